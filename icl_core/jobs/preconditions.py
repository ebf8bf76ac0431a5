"""What must hold for any run to be trained. Checked by `queue.submit`, and once before many runs
are asked for, as each would be refused for the same reason."""

from icl_core.jobs import environment, scheduler_address
from icl_core.machine import limits


def check() -> None:
    """Raise `BadSetting` if nothing may be trained here, or if an environment variable names a
    device, a precision or a scheduler that there cannot be."""
    limits.check_writable()
    if address := scheduler_address.scheduler():
        scheduler_address.check(address)
    else:
        environment.check()  # the device of another machine is not known here
