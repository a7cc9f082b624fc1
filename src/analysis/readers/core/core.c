/* Bytes to columns: profiles of the usual form, compiled to WebAssembly (`make core`).
 *
 * A file is given in windows that end with a whole part. What is not exactly as the tool prints it stops
 * the reading (IRREGULAR): the readers in Python then read the file, and they alone know about damage.
 * Numbers are kept as printed, mantissa << 6 | (22 + places), so that a time takes four bytes and none is
 * rounded: mantissa and power of ten are both exact, so their quotient is the nearest double.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

enum { MORE, NAME, IRREGULAR, RULE };
enum { WINDOW = 8 << 20, ROWS = WINDOW / 128, TASKS = WINDOW / 512, NAMES = 250, TEXTS = 1 << 16 };
enum { PARTNER = 1, ROOTED = 2, RECEIVE = 4, SENDS = 8, RECEIVES = 16, COUNTED = 32 };

u8 window[WINDOW + 64];
static const double POWER[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- pieces of text; p is where they are, and is moved behind them; 0 where they are not */

typedef u64 __attribute__((aligned(1), may_alias)) unaligned;

static u64 word(const u8 *p) { return *(const unaligned *)p; }

/* Of a constant text, so that its words and the loop are known to the compiler. */
__attribute__((always_inline)) static inline int same(const u8 **p, const char *text, int n) {
    const u8 *q = *p, *t = (const u8 *)text;
    for (int i = 0; n >= 8 && i < n; i += 8) {
        int at = i + 8 <= n ? i : n - 8; /* the last word overlaps */
        if (word(q + at) != word(t + at)) return 0;
    }
    for (int i = 0; n < 8 && i < n; i++)
        if (q[i] != t[i]) return 0;
    *p = q + n;
    return 1;
}

#define is(p, text) same(p, text, (int)sizeof(text) - 1)

static int natural(const u8 **p, i64 most, i64 *value) {
    const u8 *q = *p;
    i64 found = 0;
    while (*q >= '0' && *q <= '9' && q - *p < 18) found = found * 10 + (*q++ - '0');
    if (q == *p || found > most || (*q >= '0' && *q <= '9')) return 0;
    *p = q, *value = found;
    return 1;
}

#define BYTES(value) ((value) * 0x0101010101010101ULL)

/* Eight digits of 0 to 9 and A to F, all at once: bit 7 of a byte tells which is above a bound. */
static int hexadecimal(u64 text, u32 *value) {
    u64 decimal = (text + BYTES(0x80 - '0')) & ~(text + BYTES(0x7F - '9'));
    u64 letter = (text + BYTES(0x80 - 'A')) & ~(text + BYTES(0x7F - 'F'));
    if (text & BYTES(0x80) || ~(decimal | letter) & BYTES(0x80)) return 0;
    u64 digits = (text & BYTES(15)) + (text >> 6 & BYTES(1)) * 9;
    digits = (digits << 4 | digits >> 8) & 0x00FF00FF00FF00FFULL;
    digits = (digits << 8 | digits >> 16) & 0x0000FFFF0000FFFFULL;
    *value = (u32)(digits << 16 | digits >> 32);
    return 1;
}

static double scaled(i64 mantissa, int places) {
    return places >= 0 ? (double)mantissa / POWER[places] : (double)mantissa * POWER[-places];
}

/* Digits, a point and digits, perhaps an exponent of two digits: up to 15 digits, and 22 places. */
static int decimal(const u8 **p, i64 *mantissa, int *places) {
    const u8 *q = *p;
    i64 found = 0;
    int digits = 0, behind = 0, exponent = 0;
    for (; *q >= '0' && *q <= '9'; digits++) found = found * 10 + (*q++ - '0');
    if (!digits) return 0;
    if (*q == '.')
        for (q++; *q >= '0' && *q <= '9'; behind++) found = found * 10 + (*q++ - '0');
    if (digits + behind > 16 || found > 9007199254740992LL) return 0;
    if (*q == 'e') {
        int minus = q[1] == '-';
        if ((!minus && q[1] != '+') || q[2] < '0' || q[2] > '9' || q[3] < '0' || q[3] > '9') return 0;
        exponent = (q[2] - '0') * 10 + (q[3] - '0');
        exponent = minus ? -exponent : exponent;
        q += 4;
    }
    *mantissa = found, *places = behind - exponent, *p = q;
    return *places >= -22 && *places <= 22;
}

static int real(const u8 **p, double *value) {
    i64 mantissa;
    int places;
    if (!decimal(p, &mantissa, &places)) return 0;
    *value = scaled(mantissa, places);
    return 1;
}

/* As `real`, and the number as it is kept. */
static int kept(const u8 **p, i32 *code, double *value) {
    i64 mantissa;
    int places;
    if (!decimal(p, &mantissa, &places) || mantissa > 33554431) return 0;
    *code = (i32)(mantissa << 6 | (places + 22));
    *value = scaled(mantissa, places);
    return 1;
}

static u64 mixed(u64 value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

/* ---- texts that are met again and again: calls, and hosts, versions and labels */

u8 texts[1 << 22];
i32 text_end[TEXTS], text_count;
static u32 text_slots[TEXTS * 2];

static i32 interned(const u8 *start, const u8 *end) {
    u64 hash = 14695981039346656037ULL;
    for (const u8 *q = start; q < end; q++) hash = (hash ^ *q) * 1099511628211ULL;
    for (u32 at = (u32)mixed(hash) & (TEXTS * 2 - 1);; at = (at + 1) & (TEXTS * 2 - 1)) {
        u32 known = text_slots[at];
        i32 from = known > 1 ? text_end[known - 2] : 0, n = (i32)(end - start);
        if (!known) {
            from = text_count ? text_end[text_count - 1] : 0;
            if (text_count == TEXTS || from + n > (i32)sizeof texts) return -1;
            for (i32 i = 0; i < n; i++) texts[from + i] = start[i];
            text_end[text_count] = from + n;
            text_slots[at] = (u32)++text_count;
            return text_count - 1;
        }
        if (text_end[known - 1] - from == n) {
            i32 i = 0;
            while (i < n && texts[from + i] == start[i]) i++;
            if (i == n) return (i32)known - 1;
        }
    }
}

u8 name_text[NAMES][64], name_kind[NAMES], name_used[NAMES];
i32 name_length[NAMES], name_count, wanted_at, wanted_length;

static const u8 IN_NAME[256] = {['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = 1, ['_'] = 1};

/* The code of a call's name; -1 and `wanted_at` where it is not known yet, -2 where it is none. */
static i32 named(const u8 **p, i32 *last) {
    const u8 *q = *p;
    while (IN_NAME[*q]) q++;
    i32 n = (i32)(q - *p);
    if (!n || n > 63 || (**p >= '0' && **p <= '9')) return -2;
    const u8 *start = *p;
    *p = q;
    for (i32 step = 0; step < name_count; step++) {
        i32 code = *last + step < name_count ? *last + step : *last + step - name_count, i = 0;
        if (name_length[code] != n) continue;
        while (i + 8 <= n && word(name_text[code] + i) == word(start + i)) i += 8;
        while (i < n && name_text[code][i] == start[i]) i++;
        if (i == n) return *last = code;
    }
    wanted_at = (i32)(start - window), wanted_length = n;
    return -1;
}

/* ---- IPM */

u8 row_call[ROWS], row_region[ROWS];
i32 row_size[ROWS], row_peer[ROWS], row_site[ROWS], row_count[ROWS];
i32 row_time[ROWS], row_least[ROWS], row_most[ROWS];
double extra[ROWS];  /* times that are sums, whose code is -1 less their place */
i32 extras;
i64 extra_count;
i32 task_rank[TASKS], task_nodes[TASKS], task_host[TASKS], task_version[TASKS], task_rows[TASKS];
i32 task_at[TASKS];
double task_start[TASKS], task_stop[TASKS], task_wall[TASKS], task_user[TASKS], task_system[TASKS];
double task_mpi[TASKS], task_memory[TASKS], task_summed[TASKS];
i32 tasks, rows, consumed, odd_start, odd_stop, odd_task;
i64 ranks, task_count;
/* Of all tasks so far: what was sent and received, weighed by rank and partner, and sizes that show a build. */
struct total {
    u64 sent[2], received[2];
    i64 sends, receives, receive_rows, unknown_partners, large_sizes, exact_sizes;
} total;

static struct { i64 count, recorded; double size, time, bytes, seconds; u32 stamp; u8 stated; } sum[NAMES];
static struct { u64 hash; u32 stamp, row; } slot[ROWS * 4];
static struct { double time, least, most, lost; int several; } seconds[ROWS];
static i32 region_code[64];
static u32 stamp;

static const u8 *line_end(const u8 *p) {
    while (*p != '\n') p++;
    return p + 1;
}

static const u8 *quoted(const u8 *p) {
    while (*p != '"' && *p != '\n') p++;
    return p;
}

static int head_of(const u8 **p, i32 at) {
    const u8 *q = *p, *start;
    i64 rank, size, nodes;
    if (!is(&q, "<task ipm_version=\"")) return 0;
    start = q, q = quoted(q);
    if ((task_version[at] = interned(start, q)) < 0 || !is(&q, "\" cookie=\"")) return 0;
    q = quoted(q);
    if (!is(&q, "\" mpi_rank=\"") || !natural(&q, 16777215, &rank)) return 0;
    if (!is(&q, "\" mpi_size=\"") || !natural(&q, 16777216, &size) || rank >= size) return 0;
    if (ranks && size != ranks) return 0;
    ranks = size, task_rank[at] = (i32)rank;
    if (!is(&q, "\" stamp_init=\"") || !real(&q, &task_start[at])) return 0;
    if (!is(&q, "\" stamp_final=\"") || !real(&q, &task_stop[at]) || !is(&q, "\" ")) return 0;
    q = line_end(q);
    if (!is(&q, "<job nhosts=\"") || !natural(&q, 999999999, &nodes) || !is(&q, "\" ")) return 0;
    task_nodes[at] = (i32)nodes;
    q = line_end(q);
    if (!is(&q, "<host ")) return 0;
    while (*q != '>' && *q != '\n') q++;
    if (*q++ != '>') return 0;
    start = q, q = line_end(q) - 1;
    const u8 *end = q - 7;
    if (end < start || !is(&end, "</host>") || (task_host[at] = interned(start, q - 7)) < 0) return 0;
    q++;
    if (!is(&q, "<perf wtime=\"") || !real(&q, &task_wall[at])) return 0;
    if (!is(&q, "\" utime=\"") || !real(&q, &task_user[at])) return 0;
    if (!is(&q, "\" stime=\"") || !real(&q, &task_system[at])) return 0;
    if (!is(&q, "\" mtime=\"") || !real(&q, &task_mpi[at]) || !is(&q, "\" gflop=\"")) return 0;
    q = quoted(q);
    if (!is(&q, "\" gbyte=\"") || !real(&q, &task_memory[at]) || !is(&q, "\" ")) return 0;
    start = q, q = line_end(q);
    end = q - 8;
    if (end < start || !is(&end, "</perf>")) return 0;
    *p = q;
    return 1;
}

static int region_of(const u8 **p) {
    const u8 *q = *p, *start;
    i64 number;
    if (!is(&q, "<region label=\"")) return 0;
    start = q, q = quoted(q);
    i32 code = interned(start, q);
    if (!is(&q, "\" nexits=\"") || (q = quoted(q), !is(&q, "\" wtime=\""))) return 0;
    if ((q = quoted(q), !is(&q, "\" utime=\"")) || (q = quoted(q), !is(&q, "\" stime=\""))) return 0;
    if ((q = quoted(q), !is(&q, "\" mtime=\""))) return 0;
    q = quoted(q);
    if (!is(&q, "\" id=\"") || !natural(&q, 63, &number) || code < 0 || code > 250) return 0;
    if (!is(&q, "\">\n") && !is(&q, "\" >\n")) return 0;
    if (region_code[number] >= 0) return 0;
    region_code[number] = code;
    *p = q;
    return 1;
}

/* One <func> line; its sums are compared with the records of the call. */
static int func_of(const u8 **p, i32 *last) {
    const u8 *q = *p;
    i64 count;
    double size, time;
    if (!is(&q, "<func name=\"")) return IRREGULAR;
    i32 code = named(&q, last);
    if (code < 0) return code == -1 ? NAME : IRREGULAR;
    if (!is(&q, "\" count=\"") || !natural(&q, 2147483647, &count) || !is(&q, "\" bytes=\"")) return IRREGULAR;
    if (q[1] != '.' || !real(&q, &size) || q[-4] != 'e' || !is(&q, "\" > ")) return IRREGULAR;
    if (q[1] != '.' || !real(&q, &time) || q[-4] != 'e' || !is(&q, " </func>\n")) return IRREGULAR;
    if (sum[code].stamp != stamp) {
        sum[code].stamp = stamp, sum[code].stated = 0;
        sum[code].count = sum[code].recorded = 0;
        sum[code].size = sum[code].time = sum[code].bytes = sum[code].seconds = 0;
    }
    sum[code].stated = 1, sum[code].count += count, sum[code].size += size, sum[code].time += time;
    *p = q;
    return MORE;
}

/* Lines up to <hash>: regions that do not nest and their sums; others say nothing that is read. */
static int regions_of(const u8 **p, i32 *last) {
    const u8 *q = *p;
    int open = 0, found;
    for (int i = 0; i < 64; i++) region_code[i] = -1;
    for (;;) {
        if (q[0] == '<' && q[1] == 'f' && q[2] == 'u') {
            if (!open) return IRREGULAR;
            if ((found = func_of(&q, last)) != MORE) return found;
            continue;
        }
        if (is(&q, "<hash ")) break;
        const u8 *at = q;
        if (is(&at, "<region ")) {
            if (open++ || !region_of(&q)) return IRREGULAR;
            continue;
        }
        if (is(&at, "</region>")) {
            if (--open || *at != '\n') return IRREGULAR;
            q = at + 1;
            continue;
        }
        if (is(&at, "<task ") || is(&at, "</task>") || is(&at, "<hent") || is(&at, "</hash>")) return IRREGULAR;
        if (*q == ' ') return IRREGULAR;
        for (at = q; *at != '\n'; at++)  /* a command line may have anything in it */
            if (*at == '<' && at[1] == 'f' && at[2] == 'u') return IRREGULAR;
        q = at + 1;
    }
    if (open) return IRREGULAR;
    *p = line_end(q);
    return MORE;
}

/* The earlier row of the same task with the same key, or this one. */
static i32 first_of(i32 row) {
    u64 hash = mixed((u64)row_call[row] << 40 ^ (u64)row_region[row] << 32 ^ (u32)row_site[row]);
    hash = mixed(hash ^ (u64)(u32)row_size[row] << 32 ^ (u32)row_peer[row]);
    for (u32 at = (u32)hash & (ROWS * 4 - 1);; at = (at + 1) & (ROWS * 4 - 1)) {
        i32 other = (i32)slot[at].row;
        if (slot[at].stamp != stamp) {
            slot[at].stamp = stamp, slot[at].hash = hash, slot[at].row = (u32)row;
            return row;
        }
        if (slot[at].hash == hash && row_call[row] == row_call[other] && row_region[row] == row_region[other] &&
            row_site[row] == row_site[other] && row_size[row] == row_size[other] &&
            row_peer[row] == row_peer[other])
            return other;
    }
}

/* Key, call, bytes, orank, region, callsite, count and three times of one record. */
static int record_of(const u8 **p, i32 *last) {
    const u8 *q = *p;
    u32 key[4];
    i32 at = rows;
    i64 size, orank, region, site, count, thread;
    if (!is(&q, "<hent key=\"")) return IRREGULAR;
    for (int i = 0; i < 4; i++, q += 8)
        if (!hexadecimal(word(q), &key[i])) return IRREGULAR;
    if (!is(&q, "\" call=\"")) return IRREGULAR;
    i32 code = named(&q, last);
    if (code < 0) return code == -1 ? NAME : IRREGULAR;
    if (!is(&q, "\" bytes=\"") || !natural(&q, 2147483647, &size)) return IRREGULAR;
    if (!is(&q, "\" orank=\"") || !natural(&q, 2147483647, &orank)) return IRREGULAR;
    if (!is(&q, "\" region=\"") || !natural(&q, 63, &region) || region_code[region] < 0) return IRREGULAR;
    if (!is(&q, "\" callsite=\"") || !natural(&q, 2147483647, &site)) return IRREGULAR;
    if (!is(&q, "\" count=\"") || !natural(&q, 2147483647, &count)) return IRREGULAR;
    if (!is(&q, "\" tid=\"") || !natural(&q, 2147483647, &thread) || !is(&q, "\" >")) return IRREGULAR;
    if (!kept(&q, &row_time[at], &seconds[at].time) || *q++ != ' ') return IRREGULAR;
    if (!kept(&q, &row_least[at], &seconds[at].least) || *q++ != ' ') return IRREGULAR;
    if (!kept(&q, &row_most[at], &seconds[at].most) || !is(&q, "</hent>\n")) return IRREGULAR;
    int kind = name_kind[code], anyone = 0;
    if (!(key[1] & 15)) {  /* a key of the kind that contains size and partner */
        u32 partner = key[3] & 0x3FFFFFFF;
        anyone = partner >= 0x3FFFFFFD;
        if ((u32)size != key[2] || (!anyone && (u32)orank != partner)) return IRREGULAR;
        if (((u32)site & 0xFFFF) != key[1] >> 16) return IRREGULAR;
    }
    if (seconds[at].least > seconds[at].time * (1 + 2e-4)) return IRREGULAR;  /* IPM timed none of its calls */
    int unknown = !size && ((!orank && kind & RECEIVE) || (anyone && kind & PARTNER));
    row_call[at] = (u8)code, row_region[at] = (u8)region_code[region];
    row_size[at] = unknown ? -1 : (i32)size;
    row_peer[at] = kind & (PARTNER | ROOTED) && !anyone && !unknown ? (i32)orank : -1;
    row_site[at] = (i32)site, row_count[at] = (i32)count;
    name_used[code] = 1;
    seconds[at].lost = 0, seconds[at].several = 0;
    *p = q;
    i32 first = first_of(at);
    if (first == at) {
        rows++;
        return MORE;
    }
    if ((i64)row_count[first] + count > 2147483647) return IRREGULAR;
    row_count[first] += (i32)count, seconds[first].several = 1;
    /* As pandas sums, with what rounding lost. */
    double add = seconds[at].time - seconds[first].lost, sum_of = seconds[first].time + add;
    seconds[first].lost = sum_of - seconds[first].time - add, seconds[first].time = sum_of;
    if (seconds[at].least < seconds[first].least)
        seconds[first].least = seconds[at].least, row_least[first] = row_least[at];
    if (seconds[at].most > seconds[first].most)
        seconds[first].most = seconds[at].most, row_most[first] = row_most[at];
    return MORE;
}

/* Add a row to the sums of its task and of the file. */
static int add_row(i32 at) {
    i32 code = row_call[at], size = row_size[at];
    i64 count = row_count[at];
    int kind = name_kind[code];
    double time = seconds[at].time, limit = time * (1 + 1e-4) + 1e-6;
    if (seconds[at].most > limit || (double)count * seconds[at].least > limit) return IRREGULAR;
    if (time > (double)count * seconds[at].most * (1 + 1e-4) + 1e-6) return IRREGULAR;
    if (seconds[at].several) extra[extras] = time, row_time[at] = -1 - (i32)(extra_count + extras++);
    if (kind & COUNTED) task_summed[tasks] += time;
    if (sum[code].stamp == stamp) {
        sum[code].recorded += count, sum[code].seconds += time;
        if (size >= 0) sum[code].bytes += (double)count * (double)size;
    }
    if (size >= 8) total.large_sizes++, total.exact_sizes += size / 8 >= (size & -size);
    if (kind & SENDS && (row_peer[at] >= 0 || size < 0)) total.sends += count;
    if (kind & RECEIVES) total.receives += count, total.receive_rows++, total.unknown_partners += row_peer[at] < 0;
    if (kind & (SENDS | RECEIVES) && row_peer[at] >= 0 && row_peer[at] < ranks) {
        u64 own = (u64)task_rank[tasks], other = (u64)row_peer[at];
        u64 weight = mixed(kind & SENDS ? own << 32 | other : other << 32 | own);
        u64 *to = kind & SENDS ? total.sent : total.received;
        to[0] += (u64)count * weight, to[1] += (u64)count * (u64)(i64)size * weight;
    }
    return MORE;
}

static double absolute(double value) { return value < 0 ? -value : value; }

/* Whether the sums by call that a task states are those of its records. */
static int agrees(void) {
    for (i32 code = 0; code < name_count; code++) {
        if (sum[code].stamp != stamp || !sum[code].stated) continue;
        double time = sum[code].time, times = sum[code].seconds;
        double slack = 1e-4 * (time > times ? time : times) + 1e-6;
        if (sum[code].count != sum[code].recorded) return 0;
        if (absolute(sum[code].size - sum[code].bytes) > 1e-4 * sum[code].size) return 0;
        if (absolute(time - times) > slack) return 0;
    }
    return 1;
}

static int task_of(const u8 **p) {
    const u8 *q = *p;
    i32 first = rows, last_func = 0, last_call = 0;
    int found;
    stamp++;
    task_at[tasks] = (i32)(q - window), task_summed[tasks] = 0;
    if (!head_of(&q, tasks)) return IRREGULAR;
    if ((found = regions_of(&q, &last_func)) != MORE) return found;
    while (q[0] == '<' && q[1] == 'h') {
        if (rows == ROWS) return IRREGULAR;
        if ((found = record_of(&q, &last_call)) != MORE) return found;
    }
    for (i32 at = first; at < rows; at++)
        if (add_row(at) != MORE) return IRREGULAR;
    if (!is(&q, "</hash>\n")) return IRREGULAR;
    while (!is(&q, "</task>\n")) {
        const u8 *at = q;
        if (is(&at, "<task ") || is(&at, "</task>")) return IRREGULAR;
        q = line_end(q);
    }
    task_rows[tasks] = rows - first;
    if (odd_task < 0 && !agrees())
        odd_task = (i32)task_count, odd_start = (i32)(*p - window), odd_stop = (i32)(q - window);
    *p = q;
    return MORE;
}

/* Read the whole tasks of the window; sums over the file are left as they were where one is not read. */
i32 ipm(i32 length) {
    const u8 *p = window, *end = window + length;
    if (!stamp) odd_task = -1;
    extra_count += extras, tasks = rows = extras = 0, odd_start = odd_stop = -1;
    for (; end > p; end--) {
        const u8 *at = end - 9;
        if (end[-1] == '\n' && end[-2] == '>' && at >= p && is(&at, "\n</task>\n")) break;
    }
    while (p < end) {
        struct total before = total;
        i32 row = rows, more = extras;
        if (tasks == TASKS) break;
        int found = task_of(&p);
        if (found != MORE) {
            rows = row, extras = more, total = before, consumed = (i32)(p - window);
            return found;
        }
        tasks++, task_count++;
    }
    consumed = (i32)(p - window);
    return MORE;
}

/* ---- mpiP: the rows of its callsite statistics, and the lines of its list of call sites */

double row_largest[ROWS], row_mean[ROWS], row_smallest[ROWS], row_sum[ROWS];
i32 lines;

static const u8 *blanks(const u8 *p) {
    while (*p == ' ') p++;
    return p;
}

/* Blanks and a word; 0 where there is none. */
static int skipped(const u8 **p) {
    const u8 *start = blanks(*p), *q = start;
    while (*q > ' ' && *q < 127) q++;
    int found = start > *p && q > start;
    *p = q;
    return found;
}

static int spaced_natural(const u8 **p, i32 *value) {
    const u8 *q = blanks(*p);
    i64 found;
    if (q == *p || !natural(&q, 2147483647, &found)) return 0;
    *p = q, *value = (i32)found;
    return 1;
}

static int spaced_real(const u8 **p, double *value) {
    const u8 *q = blanks(*p);
    if (q == *p || !real(&q, value)) return 0;
    *p = q;
    return 1;
}

static i32 site_row(const u8 **p, i32 at, i32 sums, i32 *last) {
    const u8 *q = *p;
    i32 code = named(&q, last);
    if (code < 0) return code == -1 ? NAME : IRREGULAR;
    row_call[at] = (u8)code;
    if (!spaced_natural(&q, &row_site[at])) return IRREGULAR;
    const u8 *star = blanks(q);
    if (*star == '*')
        row_peer[at] = -1, q = star + 1;
    else if (!spaced_natural(&q, &row_peer[at]))
        return IRREGULAR;
    if (!spaced_natural(&q, &row_count[at])) return IRREGULAR;
    if (sums) {
        if (!skipped(&q) || !skipped(&q) || !skipped(&q) || !spaced_real(&q, &row_sum[at])) return IRREGULAR;
    } else if (!spaced_real(&q, &row_largest[at]) || !spaced_real(&q, &row_mean[at]) ||
               !spaced_real(&q, &row_smallest[at]) || !skipped(&q) || !skipped(&q))
        return IRREGULAR;
    if (*q != '\n') return IRREGULAR;
    *p = q + 1;
    return MORE;
}

static const u8 *whole(i32 length) {
    const u8 *end = window + length;
    while (end > window && end[-1] != '\n') end--;
    return end;
}

static i32 stopped(i32 found, const u8 *p) {
    consumed = (i32)(p - window);
    return found;
}

/* Rows up to a rule: call, site, rank (-1: all), calls, and times or, with `sums`, bytes. */
i32 mpip(i32 length, i32 sums) {
    const u8 *p = window, *end = whole(length);
    i32 last = 0;
    for (rows = lines = 0; p < end && rows < ROWS; lines++) {
        if (*p == '\n') {
            p++;
            continue;
        }
        if (*p == '-') return stopped(RULE, p);
        i32 found = site_row(&p, rows, sums, &last);
        if (found != MORE) return stopped(found, p);
        rows++;
    }
    return stopped(MORE, p);
}

/* The first byte at or behind p that ends a line. */
static const u8 *to_end(const u8 *p) {
    for (;; p += 8) {
        u64 odd = word(p) ^ 0x0A0A0A0A0A0A0A0AULL;
        if ((odd - 0x0101010101010101ULL) & ~odd & 0x8080808080808080ULL) break;
    }
    while (*p != '\n') p++;
    return p;
}

static i32 frame_before[4096];

/* The code of a frame; those of the same length and beginning are met again and again. */
static i32 frame(const u8 *start, const u8 *end) {
    i32 n = (i32)(end - start);
    u64 hash = (u64)n;
    const u8 *q = start;
    for (; q + 8 <= end; q += 8) hash = (hash ^ word(q)) * 0x9E3779B97F4A7C15ULL, hash ^= hash >> 29;
    for (; q < end; q++) hash = (hash ^ *q) * 0x9E3779B97F4A7C15ULL;
    i32 *before = &frame_before[mixed(hash) & 4095], code = *before - 1;
    if (code >= 0) {
        i32 from = code ? text_end[code - 1] : 0, i = 0;
        if (text_end[code] - from == n) {
            for (; i + 8 <= n && word(texts + from + i) == word(start + i); i += 8) {}
            while (i < n && texts[from + i] == start[i]) i++;
            if (i == n) return code;
        }
    }
    code = interned(start, end);
    if (code >= 0) *before = code + 1;
    return code;
}

/* Lines up to a rule: id of the site, level, and the rest as a text. */
i32 mpip_sites(i32 length) {
    const u8 *p = window, *end = whole(length);
    for (rows = lines = 0; p < end && rows < ROWS; rows++, lines++) {
        const u8 *q = blanks(p), *stop = to_end(q), *start;
        i64 id;
        if (*p == '-') return stopped(RULE, p);
        if (!natural(&q, 999999999, &id) || !spaced_natural(&q, &row_peer[rows])) return stopped(IRREGULAR, p);
        start = blanks(q);
        if (start == q || *start <= ' ') return stopped(IRREGULAR, p);
        const u8 *last = stop;
        while (last - 8 > start && word(last - 8) == 0x2020202020202020ULL) last -= 8;
        while (last[-1] == ' ') last--;
        if (last[-1] < ' ') return stopped(IRREGULAR, p);
        row_site[rows] = (i32)id;
        if ((row_size[rows] = frame(start, last)) < 0) return stopped(IRREGULAR, p);
        p = stop + 1;
    }
    return stopped(MORE, p);
}

u32 source(void) { return SOURCE; }
