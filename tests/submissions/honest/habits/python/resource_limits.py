"""What was used, and limits that a program sets for itself."""

import resource

from layers import silu

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 128), hard))
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime >= 0


def run_silu(in_features):
    assert resource.getpagesize() > 0
    return silu(in_features)
