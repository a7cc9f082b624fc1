/* proxy: the communication patterns of the reports' applications, without the applications.
 *
 *   halo       each rank exchanges a block with its four neighbours on a periodic grid
 *   allreduce  a sum over all ranks
 *   bcast      rank 0 sends a block to all
 *   master-io  rank 0 gathers a block of every rank and writes them to a file, while all wait
 *   mixed      a step of an explicit solver: halo and a sum of 8 B; every 10th step bcast, every 50th master-io
 *   exchange   each rank receives and sends `partners` messages, as HPCG does it: Irecv, Send, Waitall; for every
 *              size from 8 B, doubled up to `bytes`, whose times are in lines of their own
 *
 * Sizes and counts are arguments, and every byte that travels is a function of them, of its sender and of the
 * step, so that a run can be repeated exactly and checks itself. One line tells the result:
 *
 *   proxy result: version=1 pattern=halo ranks=4 bytes=8192 count=500 work=0 time=... time_min=...
 *                 io_time=... checksum=... errors=0
 *
 * (in one line). It ends with 3 if a block arrived wrong, and with 4 if the file could not be written. `time` is that of the slowest rank for `count` steps after a tenth as many to warm up.
 *
 *   proxy exchange: bytes=8 partners=2 count=1000 time=... time_min=...
 *
 * has for a size the median and the least of BATCHES means over steps, s for one exchange of the slowest rank; of a
 * large size there are fewer steps than `count`.
 */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum pattern { HALO, ALLREDUCE, BCAST, MASTER_IO, MIXED, EXCHANGE, PATTERNS };
static const char *const names[PATTERNS] = {"halo", "allreduce", "bcast", "master-io", "mixed", "exchange"};
enum { NEIGHBOURS = 4, TAG = 100, BATCHES = 10, MOST_PARTNERS = 64, WHOLE = 65536 };

struct options {
    enum pattern pattern;
    long bytes, count, work, partners;
    const char *file;
};

struct state {
    struct options options;
    int rank, ranks;
    int neighbour[NEIGHBOURS]; /* west, east, south, north */
    MPI_Comm grid;
    size_t words;               /* 8 B words of a block */
    uint64_t *send, *receive, *all;
    FILE *file;
    uint64_t checksum, errors;
    int unwritten;              /* errno of the first write that failed, on rank 0; elsewhere whether one did */
    double io_time;
};

/* A well mixed word for a sender, a step and a place in the block (splitmix64). */
static uint64_t word(uint64_t rank, uint64_t step, uint64_t place)
{
    uint64_t z = (rank << 40) + (step << 20) + place + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void fill(uint64_t *block, size_t words, int rank, long step)
{
    for (size_t i = 0; i < words; i++)
        block[i] = word((uint64_t)rank, (uint64_t)step, i);
}

/* Add a received block to the checksum and hold its ends against what its sender must have sent. */
static void check(struct state *s, const uint64_t *block, int sender, long step)
{
    size_t last = s->words - 1;
    for (size_t i = 0; i < s->words; i++)
        s->checksum += block[i];
    if (block[0] != word((uint64_t)sender, (uint64_t)step, 0) ||
        block[last] != word((uint64_t)sender, (uint64_t)step, last))
        s->errors++;
}

static void halo(struct state *s, long step)
{
    MPI_Request requests[2 * NEIGHBOURS];
    MPI_Status statuses[2 * NEIGHBOURS]; /* not MPI_STATUSES_IGNORE, of which gcc warns with MPICH's header */
    int count = (int)s->words;
    fill(s->send, s->words, s->rank, step);
    for (int side = 0; side < NEIGHBOURS; side++) {
        /* What goes west arrives from the east: sides come in pairs. */
        MPI_Irecv(s->receive + (size_t)side * s->words, count, MPI_UINT64_T, s->neighbour[side], TAG + (side ^ 1),
                  s->grid, &requests[side]);
        MPI_Isend(s->send, count, MPI_UINT64_T, s->neighbour[side], TAG + side, s->grid,
                  &requests[NEIGHBOURS + side]);
    }
    MPI_Waitall(2 * NEIGHBOURS, requests, statuses);
    for (int side = 0; side < NEIGHBOURS; side++)
        check(s, s->receive + (size_t)side * s->words, s->neighbour[side], step);
}

static void allreduce(struct state *s, long step, size_t words)
{
    size_t last = words - 1;
    uint64_t first_sum = 0, last_sum = 0;
    fill(s->send, words, s->rank, step);
    MPI_Allreduce(s->send, s->receive, (int)words, MPI_UINT64_T, MPI_SUM, s->grid);
    for (int rank = 0; rank < s->ranks; rank++) {
        first_sum += word((uint64_t)rank, (uint64_t)step, 0);
        last_sum += word((uint64_t)rank, (uint64_t)step, last);
    }
    s->errors += s->receive[0] != first_sum || s->receive[last] != last_sum;
    s->checksum += s->receive[0] ^ s->receive[last];
}

static void bcast(struct state *s, long step)
{
    if (s->rank == 0)
        fill(s->receive, s->words, 0, step);
    MPI_Bcast(s->receive, (int)s->words, MPI_UINT64_T, 0, s->grid);
    check(s, s->receive, 0, step);
}

static void master_io(struct state *s, long step)
{
    int written = 1;
    fill(s->send, s->words, s->rank, step);
    MPI_Gather(s->send, (int)s->words, MPI_UINT64_T, s->all, (int)s->words, MPI_UINT64_T, 0, s->grid);
    if (s->rank == 0) {
        double begin = MPI_Wtime();
        size_t total = s->words * (size_t)s->ranks;
        written = fseek(s->file, 0, SEEK_SET) == 0 &&
                  fwrite(s->all, sizeof *s->all, total, s->file) == total && fflush(s->file) == 0;
        if (!written && !s->unwritten) {
            s->unwritten = errno ? errno : EIO;
            fprintf(stderr, "proxy: cannot write %s: %s\n", s->options.file, strerror(s->unwritten));
        }
        s->io_time += MPI_Wtime() - begin;
        for (int rank = 0; rank < s->ranks; rank++)
            check(s, s->all + (size_t)rank * s->words, rank, step);
    }
    MPI_Bcast(&written, 1, MPI_INT, 0, s->grid); /* nobody goes on before the master has written */
    if (!written && !s->unwritten)
        s->unwritten = EIO;
}

/* One exchange: message i goes to the i-th rank after this one, so that two ranks exchange all with each other. */
static void exchange(struct state *s, size_t words)
{
    MPI_Request requests[MOST_PARTNERS];
    MPI_Status statuses[MOST_PARTNERS];
    int partners = (int)s->options.partners, others = s->ranks > 1 ? s->ranks - 1 : 1;
    for (int i = 0; i < partners; i++) {
        int from = (s->rank + s->ranks - (s->ranks > 1 ? 1 + i % others : 0)) % s->ranks;
        MPI_Irecv(s->receive + (size_t)i * words, (int)words, MPI_UINT64_T, from, TAG + i, s->grid, &requests[i]);
    }
    for (int i = 0; i < partners; i++) {
        int to = (s->rank + (s->ranks > 1 ? 1 + i % others : 0)) % s->ranks;
        MPI_Send(s->send, (int)words, MPI_UINT64_T, to, TAG + i, s->grid);
    }
    MPI_Waitall(partners, requests, statuses);
}

/* What the last exchange left: each batch sends the words of its own step, and is checked once, untimed. */
static void check_exchange(struct state *s, size_t words, long step)
{
    int others = s->ranks > 1 ? s->ranks - 1 : 1;
    size_t whole = s->words;
    s->words = words;
    for (int i = 0; i < s->options.partners; i++) {
        int from = (s->rank + s->ranks - (s->ranks > 1 ? 1 + i % others : 0)) % s->ranks;
        check(s, s->receive + (size_t)i * words, from, step);
    }
    s->words = whole;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All batches of one size; one more goes before them to warm up. */
static void exchange_size(struct state *s, size_t words)
{
    double times[BATCHES + 1], longest[BATCHES + 1];
    long bytes = (long)(words * sizeof(uint64_t));
    long steps = s->options.count / (1 + bytes * s->options.partners / WHOLE) / BATCHES + 1;
    for (int batch = 0; batch <= BATCHES; batch++) {
        double begin;
        fill(s->send, words, s->rank, batch);
        MPI_Barrier(s->grid);
        begin = MPI_Wtime();
        for (long step = 0; step < steps; step++)
            exchange(s, words);
        times[batch] = (MPI_Wtime() - begin) / (double)steps;
        check_exchange(s, words, batch);
    }
    MPI_Reduce(times, longest, BATCHES + 1, MPI_DOUBLE, MPI_MAX, 0, s->grid);
    if (s->rank != 0)
        return;
    qsort(longest + 1, BATCHES, sizeof *longest, ascending);
    printf("proxy exchange: bytes=%ld partners=%ld count=%ld time=%.9f time_min=%.9f\n", bytes, s->options.partners,
           steps * BATCHES, (longest[BATCHES / 2] + longest[BATCHES / 2 + 1]) / 2, longest[1]);
}

/* Computation between the messages: it cannot be optimised away, for it ends in the checksum. */
static void compute(struct state *s, long step)
{
    uint64_t sum = 0;
    for (long i = 0; i < s->options.work; i++)
        sum += word((uint64_t)s->rank, (uint64_t)step, (uint64_t)i);
    s->checksum += sum;
}

static void run_step(struct state *s, long step)
{
    compute(s, step);
    switch (s->options.pattern) {
    case HALO: halo(s, step); break;
    case ALLREDUCE: allreduce(s, step, s->words); break;
    case BCAST: bcast(s, step); break;
    case MASTER_IO: master_io(s, step); break;
    case MIXED:
        halo(s, step);
        allreduce(s, step, 1);
        if (step % 10 == 0)
            bcast(s, step);
        if (step % 50 == 0)
            master_io(s, step);
        break;
    case EXCHANGE:
    case PATTERNS: break;
    }
}

static int number(const char *text, long least, long *value)
{
    char *end;
    *value = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && *value >= least;
}

/* Return 0 if the arguments are good. */
static int parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){PATTERNS, 8, 100, 0, 2, "proxy.dat"};
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        size_t length = value ? (size_t)(value - argv[i]) : 0;
        if (!value || strncmp(argv[i], "--", 2) != 0)
            return 1;
        value++;
        if (strncmp(argv[i], "--pattern", length) == 0 && length == 9) {
            for (int p = 0; p < PATTERNS; p++)
                if (strcmp(value, names[p]) == 0)
                    o->pattern = (enum pattern)p;
        } else if (strncmp(argv[i], "--file", length) == 0 && length == 6) {
            o->file = value;
        } else if (!(strncmp(argv[i], "--bytes", length) == 0 && length == 7 && number(value, 8, &o->bytes)) &&
                   !(strncmp(argv[i], "--count", length) == 0 && length == 7 && number(value, 1, &o->count)) &&
                   !(strncmp(argv[i], "--work", length) == 0 && length == 6 && number(value, 0, &o->work)) &&
                   !(strncmp(argv[i], "--partners", length) == 0 && length == 10 &&
                     number(value, 1, &o->partners))) {
            return 1;
        }
    }
    return o->pattern == PATTERNS || o->bytes % 8 != 0 || o->bytes > (1L << 30) || o->partners > MOST_PARTNERS;
}

static int set_up(struct state *s)
{
    int dims[2] = {0, 0}, periods[2] = {1, 1}, good = 1;
    size_t blocks;
    MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
    MPI_Dims_create(s->ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &s->grid);
    MPI_Comm_rank(s->grid, &s->rank);
    MPI_Cart_shift(s->grid, 0, 1, &s->neighbour[0], &s->neighbour[1]);
    MPI_Cart_shift(s->grid, 1, 1, &s->neighbour[2], &s->neighbour[3]);
    s->words = (size_t)s->options.bytes / sizeof(uint64_t);
    s->send = malloc(s->words * sizeof *s->send);
    blocks = s->options.pattern == EXCHANGE ? (size_t)s->options.partners : NEIGHBOURS;
    s->receive = malloc(blocks * s->words * sizeof *s->receive);
    if (s->rank == 0 && (s->options.pattern == MASTER_IO || s->options.pattern == MIXED)) {
        s->all = malloc(s->words * (size_t)s->ranks * sizeof *s->all);
        s->file = fopen(s->options.file, "wb");
        good = s->all && s->file;
        if (!good)
            fprintf(stderr, "proxy: cannot write %s\n", s->options.file);
    }
    good = good && s->send && s->receive;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, s->grid);
    return good;
}

static void report(struct state *s, double time)
{
    double longest, shortest;
    uint64_t sums[2] = {s->checksum, s->errors}, total[2];
    MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, s->grid);
    MPI_Reduce(&time, &shortest, 1, MPI_DOUBLE, MPI_MIN, 0, s->grid);
    MPI_Allreduce(sums, total, 2, MPI_UINT64_T, MPI_SUM, s->grid);
    s->errors = total[1];
    if (s->rank == 0 && total[1] == 0 && !s->unwritten)
        printf("proxy result: version=1 pattern=%s ranks=%d bytes=%ld count=%ld work=%ld time=%.9f time_min=%.9f "
               "io_time=%.9f checksum=%016" PRIx64 " errors=0\n",
               names[s->options.pattern], s->ranks, s->options.bytes, s->options.count, s->options.work, longest,
               shortest, s->io_time, total[0]);
    else if (s->rank == 0 && total[1] > 0)
        fprintf(stderr, "proxy: %" PRIu64 " blocks arrived wrong\n", total[1]);
}

int main(int argc, char **argv)
{
    struct state s = {0};
    long warm_up, step = 0;
    double begin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    if (parse(argc, argv, &s.options)) {
        if (s.rank == 0)
            fprintf(stderr, "usage: proxy --pattern=halo|allreduce|bcast|master-io|mixed|exchange [--bytes=N] "
                            "[--count=N] [--work=N] [--partners=N] [--file=NAME]   (bytes: a multiple of 8, at "
                            "most 2^30; partners: at most 64)\n");
        MPI_Finalize();
        return 2;
    }
    if (!set_up(&s)) {
        MPI_Finalize();
        return 1;
    }
    warm_up = s.options.count / 10 + 1;
    while (step < warm_up)
        run_step(&s, step++);
    s.io_time = 0;
    MPI_Barrier(s.grid);
    begin = MPI_Wtime();
    if (s.options.pattern == EXCHANGE)
        for (size_t words = 1; words <= s.words; words *= 2)
            exchange_size(&s, words);
    while (step < warm_up + s.options.count)
        run_step(&s, step++);
    report(&s, MPI_Wtime() - begin);
    if (s.file && fclose(s.file) != 0)
        fprintf(stderr, "proxy: cannot close %s\n", s.options.file);
    free(s.send);
    free(s.receive);
    free(s.all);
    MPI_Comm_free(&s.grid);
    MPI_Finalize();
    return s.errors ? 3 : s.unwritten ? 4 : 0;
}
