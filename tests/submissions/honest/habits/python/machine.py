"""What a log says about the machine."""

import os
import platform
import socket
import sys
import sysconfig

from layers import silu

assert platform.platform() and platform.node() and platform.processor() is not None
assert socket.gethostname() == os.uname().nodename
assert platform.python_version_tuple()[0] == "3" and sysconfig.get_paths()["stdlib"]
assert platform.libc_ver() and platform.freedesktop_os_release()["ID"]
assert os.path.exists(sys.executable) and os.getpid() > 0


def run_silu(in_features):
    return silu(in_features)
