"""How many cases a test tries that goes through very many: every system call, rounds with random numbers.

With FOREBAY_TEST_FULL=1 in the environment (.ci/run and ./dev soak set it) it tries all of them. Otherwise it tries
about one in five, spread evenly, with the first and the last one among them. cases.h has the same for C++. As a plugin
of pytest this module chooses among the tests of others.
"""

import os

ONE_IN, AT_LEAST = 5, 3


def all_cases():
    """Whether every case is tried."""
    return bool(os.environ.get("FOREBAY_TEST_FULL"))


def few_of(number):
    """How many of `number` rounds are played, or events a test has to see: three at least, if there are so many."""
    return number if all_cases() else max(min(number, AT_LEAST), -(-number // ONE_IN))


def some_of(places):
    """Those that are tried of a list of places."""
    few, last = few_of(len(places)), len(places) - 1
    return [places[i * last // max(few - 1, 1)] for i in range(few)]


def try_places(has_effect, first=1, step=1, patience=1):
    """Tries place after place, from `first` on in steps of `step`, until has_effect(place) has been false `patience`
    times in a row: the program is over before it comes there. Without FOREBAY_TEST_FULL the steps are five times as
    long, and the last place is looked for. Returns a text: how many of how many were tried."""
    apart = step if all_cases() else step * ONE_IN
    most_quiet = patience if all_cases() else (patience + 1) // 2
    place, last, quiet, tried = first, first - step, 0, 0
    while quiet < most_quiet:
        tried += 1
        quiet = 0 if has_effect(place) else quiet + 1
        last = last if quiet else place
        place += apart
    # Where nothing comes behind a place without effect, none comes behind the first.
    looks = last >= first or patience > 1
    place = last + apart - step
    while looks and place > max(last, first):
        tried += 1
        last = place if has_effect(place) else last
        place -= step
    return f"{tried} of {(last - first) // step + 1 + patience}"


def pytest_collection_modifyitems(config, items):
    """Leaves the chosen ones of the tests that pytest has found."""
    chosen = some_of(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
