/* stats_resource.h: what more there is to write of resource pools, in each format. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_RESOURCE_H
#define KOLK_SRC_STATS_RESOURCE_H

#include "kolk/resource.h"

#include "records.h"
#include "writer.h"

/* A table of their own, if there is a resource pool. */
void kolk_resource_write_table(kolk_writer *out, const kolk_records *records);

/* `, "resource": {...}`. */
void kolk_resource_write_json(kolk_writer *out, const kolk_resource_stats *stats);

/* The metrics that OpenTelemetry's conventions name for pools of connections (db.client.connection.count ...), in the
 * way of Prometheus; and what else is counted, as kolk_resource_... */
void kolk_resource_write_openmetrics(kolk_writer *out, const kolk_records *records);

#endif
