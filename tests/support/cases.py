"""How many cases a test tries that goes through very many: every system call, rounds with random numbers.

With FOREBAY_TEST_FULL=1 in the environment (./dev soak sets it) it tries all of them. Otherwise it tries
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
    long, and the last place is looked for: by halves if patience is 1, since then every place before the last one has
    an effect. Returns a text: how many were tried, and which is the last."""
    apart = step if all_cases() else step * ONE_IN
    place, last, quiet, tried = first, first - step, 0, 0
    while quiet < patience:
        tried += 1
        quiet = 0 if has_effect(place) else quiet + 1
        last = last if quiet else place
        place += apart
    low = max(last, first)  # was tried
    end = low if last < first and patience == 1 else last + apart
    while end - low > step:
        place = end - step if patience > 1 else low + (end - low) // step // 2 * step
        tried += 1
        if has_effect(place):
            low = last = place
        else:
            end = place
    return f"{tried} calls tried, {last} is the last"


def pytest_collection_modifyitems(config, items):
    """Leaves the chosen ones of the tests that pytest has found."""
    chosen = some_of(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
