"""What is too much for one run of the slow tier: a share of it each day, all of it within some days.

PRENORM_SHARE=all runs everything, PRENORM_SHARE=739949 the share of the day with that number: what failed
once is repeated by the number that is printed below it.
"""

import datetime
import os
from functools import cache


@cache  # also beyond midnight
def number():
    """Which share; None: all of it."""
    given = os.environ.get("PRENORM_SHARE") or str(datetime.date.today().toordinal())
    return None if given == "all" else int(given)


def share(values, parts):
    """Every parts-th of the values; all of them where all is asked for."""
    values = list(values)
    return values if number() is None else values[number() % parts::parts]
