#include "common/stack/waitsyscall.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "common/base/na.h"
#include "common/base/scan.h"

/* Some architectures lack the older of two calls that do the same. */
struct wait_syscall wait_syscall(uint64_t number)
{
	switch (number) {
	case SYS_futex:
		return (struct wait_syscall){ .cause = CAUSE_FUTEX, .by_futex = true };
	case 449:                      /* futex_waitv, futex_wait: the same everywhere */
	case 455:
#ifdef SYS_semop
	case SYS_semop:
#endif
	case SYS_semtimedop:
		return (struct wait_syscall){ .cause = CAUSE_FUTEX };
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync:
	case SYS_syncfs:
	case SYS_msync:
	case SYS_sync_file_range:
	case SYS_io_getevents:
		return (struct wait_syscall){ .cause = CAUSE_DISK };
	case SYS_connect:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return (struct wait_syscall){ .cause = CAUSE_NETWORK };
	case SYS_accept:
	case SYS_accept4:
		return (struct wait_syscall){ .cause = CAUSE_ACCEPT };
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_preadv:
	case SYS_pwritev:
	case SYS_preadv2:
	case SYS_pwritev2:
		return (struct wait_syscall){ .cause = CAUSE_OTHER, .by_file = true };
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return (struct wait_syscall){ .cause = CAUSE_TIMER };
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case 426:                      /* io_uring_enter, epoll_pwait2: the same everywhere */
	case 441:
		return (struct wait_syscall){ .cause = CAUSE_POLL };
	case SYS_wait4:
	case SYS_waitid:
		return (struct wait_syscall){ .cause = CAUSE_CHILD };
#ifdef SYS_pause
	case SYS_pause:
#endif
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		return (struct wait_syscall){ .cause = CAUSE_SIGNAL };
	}
	return (struct wait_syscall){ .cause = CAUSE_OTHER };
}

bool wait_syscall_is_lock(uint64_t operation, uint64_t value)
{
	const uint64_t command = operation & FUTEX_CMD_MASK & 0xff;

	return command == FUTEX_LOCK_PI || command == 13 /* FUTEX_LOCK_PI2 */ ||
	       (command == FUTEX_WAIT && (uint32_t)value == 2);
}

bool wait_syscall_parse(struct text t, uint64_t *number, uint64_t arguments[3])
{
	struct scan s = scan_of(t);
	int64_t n;

	for (size_t i = 0; i < 3; i++)
		arguments[i] = 0;
	*number = NA_U64;
	if (scan_literal(&s, "running"))
		return true;
	if (!scan_i64(&s, &n))
		return false;
	*number = n < 0 ? NA_U64 : (uint64_t)n;
	for (size_t i = 0; i < 3; i++) {
		scan_blanks(&s);
		if (!scan_literal(&s, "0x") || !scan_hex(&s, &arguments[i]))
			break;
	}
	return true;
}
