/* SPDX-License-Identifier: Zlib */
/* kolk.h: all of kolk, so that programs include "kolk.h" whether they have it from here, installed, or as one of two
 * files. */
#include "kolk/kolk.h"
