/* SPDX-License-Identifier: Zlib */
/* kolk/kolk.h: all headers of the library. */
#ifndef KOLK_H
#define KOLK_H

#include "base.h"
#include "budget.h"
#include "bytemap.h"
#include "pool.h"
#include "queue.h"
#include "heap.h"
#include "ipc.h"
#include "resource.h"
#include "shared.h"
#include "slotmap.h"
#include "snapshot.h"
#include "typed.h"

#endif
