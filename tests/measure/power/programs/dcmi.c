/* A module for ipmi_sim: answers DCMI's Get Power Reading with the watts that a file holds. */
#include <OpenIPMI/serv.h>
#include <OpenIPMI/mcserv.h>
#include <stdio.h>
#include <string.h>

static char path[1024];

static void put(unsigned char *to, unsigned long value, int bytes)
{
    while (bytes-- > 0) {
        *to++ = value & 0xff;
        value >>= 8;
    }
}

static void dcmi(lmc_data_t *mc, msg_t *msg, unsigned char *rdata, unsigned int *rdata_len, void *data)
{
    unsigned int watts = 0;
    FILE *file;

    (void)mc;
    (void)data;
    memset(rdata, 0, 19);
    rdata[1] = 0xdc; /* the group extension of DCMI */
    *rdata_len = 2;
    file = msg->cmd == 0x02 ? fopen(path, "r") : NULL;
    if (!file || fscanf(file, "%u", &watts) != 1) {
        rdata[0] = 0xc1; /* invalid command */
    } else {
        put(rdata + 2, watts, 2);
        put(rdata + 4, watts, 2);
        put(rdata + 6, watts, 2);
        put(rdata + 8, watts, 2);
        put(rdata + 10, 1700000000ul, 4);
        put(rdata + 14, 1000, 4);
        rdata[18] = 0x40; /* the measurement is active */
        *rdata_len = 19;
    }
    if (file)
        fclose(file);
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *options)
{
    (void)sys;
    (void)options;
    return 0;
}

int ipmi_sim_module_init(sys_data_t *sys, const char *options)
{
    (void)sys;
    snprintf(path, sizeof(path), "%s", options);
    ipmi_emu_register_group_extension_handler(0xdc, dcmi, NULL);
    return 0;
}
