/* cli/soak/chart.h: draws the series of beside.h as a picture. */
#ifndef SOAK_CHART_H
#define SOAK_CHART_H

#include "beside.h"

bool chart_write(const struct beside *besides, const char *path); /* draws a PNG */

#endif
