"""Results of all programs in one form.

A result is {"of": title, "backend": name, "operation": name, "ranks": number or None, KEY: number or list of samples}.
"seconds" are the samples of the time; other keys are what a program tells besides. The backend is the family: what
differs in its MPI-IO module only is the same one, and the quicker one counts.
"""

import statistics

KEPT = ("bytes", "file_bytes")


def result(of, backend, operation, ranks, **more):
    return {"of": of, "backend": backend, "operation": operation, "ranks": ranks, **more}


def of_driver(records):
    """Records of bench/driver/run.py. Wrong values and backends that were not measured to the end are left out."""
    found = []
    for r in records:
        if r.get("suite") == "bundles":
            of = f"{r['workload']}, {'slow store' if r['slow_store'] else 'memory'}"
            found.append(result(of, r["backend"], "write", r["ranks"], seconds=r["seconds"]))
            continue
        if r.get("wrong_values"):
            continue
        of = r["of"] if r.get("suite") else f"{r['of']} {r['directory kind']}"
        phases = r["phases"] if r.get("suite") == "staging" else {}
        found.append(
            result(
                of,
                r["backend"].split("/")[0],
                r["operation"],
                r["for_ranks"],
                seconds=r["seconds"],
                **{key: r[key] for key in KEPT if key in r},
                **phases,
            )
        )
    return quickest(found)


def quickest(found):
    """Of results that differ in nothing but their samples the one with the least median."""
    best = {}
    for r in found:
        key = (r["of"], r["backend"], r["operation"], r["ranks"])
        if key not in best or statistics.median(r["seconds"]) < statistics.median(best[key]["seconds"]):
            best[key] = r
    return list(best.values())


def of_adjoint(study):
    found = []
    for case in "ab":
        if case in study:
            found += [
                result(
                    f"case {case}",
                    row["codec"].split(":")[0],
                    "run",
                    None,
                    **{key: row[key] for key in ("ratio", "bytes_saved", "time_saved")},
                )
                for row in study[case]["compared"]
            ]
        for row in study.get(f"errors {case}", []):
            found.append(
                result(
                    f"errors {case}, {row['checkpoints']} checkpoints",
                    row["codec"].split(":")[0],
                    "run",
                    None,
                    error=row["sampled"],
                )
            )
    return found


def of_groups(report):
    title = f"{report['variables']} variables, {report['elements']} elements, {report['steps']} steps"
    return [result(title, way["name"], "write", report["ranks"], seconds=way["all"]) for way in report["ways"]]


def of_sizes(records):
    return [
        result(
            r["workload"],
            r["backend"],
            "write",
            r["ranks"],
            seconds=r["seconds"],
            largest_over_mean=r["largest_over_mean"],
        )
        for r in records
    ]


def of_plans(records):
    """Of forebay-order and forebay-patch-scale."""
    found = []
    for r in records:
        if r["workload"] == "order":
            found.append(result(r["of"], "order", "order", None, ratio=r["ratio"]))
        elif r["workload"] == "patch-owners":
            found.append(
                result(
                    "patch-owners",
                    r["backend"],
                    "plan",
                    r["ranks"],
                    least=r["least"],
                    most=r["most"],
                    moved_percent=r["moved_percent"],
                )
            )
        else:
            found.append(
                result(
                    f"patch-files {r['field']}, {r['files']} files",
                    r["backend"],
                    "plan",
                    r["ranks"],
                    largest_over_mean=r["largest_over_mean"],
                    equal_counts=r["equal_counts"],
                )
            )
    return found


def of_bundle_plan(plan):
    """Of each scheme: what the slowest file takes for its shuffle, and how many ranks the largest file has."""
    found = []
    for scheme in plan["schemes"]:
        largest = max(scheme["files"], key=lambda f: f["bytes"])
        found.append(
            result(
                "plan",
                scheme["scheme"],
                "plan",
                plan["ranks"],
                seconds=[scheme["seconds"]],
                shuffle=max(f["shuffle_seconds"] for f in scheme["files"]),
                largest_group=largest["ranks"],
            )
        )
    return found
