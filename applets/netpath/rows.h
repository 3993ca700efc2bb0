/* Inside netpath's walk: the tables of the layers, in rows.c's list. */
#ifndef APPLETS_NETPATH_ROWS_H
#define APPLETS_NETPATH_ROWS_H

#include "common/report/table.h"

extern const struct table netpath_device_table, netpath_driver_table, netpath_queue_table,
	netpath_cpu_table, netpath_socket_table;

#endif
