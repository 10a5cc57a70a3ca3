# For the tests over MPI: the function ranks starts a program as ranks on this machine, also for root.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if [ -z "${MPIRUN:-}" ] || ! command -v "$MPIRUN" >/dev/null; then
	echo "skipped: no MPI here"
	exit 77
fi
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1                         # Open MPI 4
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe        # Open MPI 5
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
export PRTE_MCA_rmaps_default_mapping_policy
# Ranks are not bound to cores, which another test may be using; Open MPI 4, then 5.
OMPI_MCA_hwloc_base_binding_policy=none
PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_hwloc_base_binding_policy PRTE_MCA_hwloc_default_binding_policy

# ranks N PROGRAM [ARGUMENT]...: runs it as N ranks; status 124 if it hangs.
ranks() {
	number=$1
	shift
	timeout 300 "$MPIRUN" -n "$number" "$@"
}
