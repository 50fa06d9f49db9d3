"""A framework's program of a workload, for the workloads of the audits as well.

`python -m stackwars.audits.lower --job FILE --output DIR`, as `stackwars.compilers.lower`.
"""

from stackwars.audits.depth_child import add_workloads
from stackwars.compilers import lower

if __name__ == "__main__":
    add_workloads()
    lower.main()
