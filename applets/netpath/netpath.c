/* netpath: at which layer are packets lost, and what proves it? */
#include "applets/netpath/netpath.h"

/* Each mode is a file of its own. */
static const struct mode *const modes[] = {
	&netpath_walk,
	NULL,
};

const struct applet applet_netpath = {
	.name = "netpath",
	.summary = "at which layer packets are lost, in both directions, each loss once",
	.area = "packet path",
	.modes = modes,
	.findings = netpath_findings,
	.sees_not = "what only a drop reason tells (generic XDP): netpath --drops",
};
