/* MPI_Finalize that waits 0.1 s: Debian's MPICH 4.0.2 may else hang in it.
 *
 * That MPICH closes its TCP connections by UCX 1.13 while some of them are still being made. Beside other work
 * 3 of 15 starts of 2 x 2 ranks hung so, after they had printed their result; with a barrier and 0.1 s none of 65 did.
 */
#include <mpi.h>
#include <unistd.h>

int MPI_Finalize(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    return PMPI_Finalize();
}
