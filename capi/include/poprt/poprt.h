/* Includes all headers of poprt. capi/ABI.md contains the rules for all functions. */
#ifndef POPRT_POPRT_H
#define POPRT_POPRT_H

#include "poprt/anchor.h"
#include "poprt/api.h"
#include "poprt/compiler.h"
#include "poprt/device.h"
#include "poprt/error.h"
#include "poprt/estimate.h"
#include "poprt/executable.h"
#include "poprt/generator.h"
#include "poprt/log.h"
#include "poprt/passes.h"
#include "poprt/plugin.h"
#include "poprt/plugins.h"
#include "poprt/popef.h"
#include "poprt/popef_metadata.h"
#include "poprt/popef_model.h"
#include "poprt/popef_reader.h"
#include "poprt/popef_writer.h"
#include "poprt/queue.h"
#include "poprt/runner.h"
#include "poprt/runners.h"
#include "poprt/session.h"
#include "poprt/telemetry.h"
#include "poprt/tensor.h"
#include "poprt/version.h"

#endif
