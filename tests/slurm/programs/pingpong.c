/* Hello from every rank, then a ping-pong between the first and the last: what the network gives.
 *
 * usage: pingpong BYTES ROUNDS
 * prints "rank R of N on HOST" by each rank, then "bandwidth X" in B/s, one way, by rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, length;
    char host[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d on %s\n", rank, ranks, host);
    fflush(stdout);

    int bytes = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0, last = ranks - 1;
    if (bytes > 0 && rounds > 0 && last > 0 && (rank == 0 || rank == last)) {
        char *buffer = calloc((size_t)bytes, 1);
        int peer = rank == 0 ? last : 0;
        double start = 0;
        for (int i = -1; i < rounds; i++) {
            if (i == 0) /* the round before opened the connection */
                start = MPI_Wtime();
            if (rank == 0)
                MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == last)
                MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
        }
        if (rank == 0)
            printf("bandwidth %.0f\n", 2.0 * rounds * bytes / (MPI_Wtime() - start));
        free(buffer);
    }
    MPI_Finalize();
    return 0;
}
