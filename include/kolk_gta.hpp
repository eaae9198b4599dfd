/* SPDX-License-Identifier: Zlib */
/* kolk_gta.hpp: GTA's pool with the plugin-sdk's names, so that programs include "kolk_gta.hpp" whether they have it
 * from here, installed, or beside the two files. */
#include "kolk/kolk_gta.hpp"
