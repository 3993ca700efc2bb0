# What programs wrote is no kill, wherever they wrote it: status 0.
perfbox oomcheck --root @oom --log @oom/liar.log
perfbox oomcheck --root @oom --log @oom/liar-syslog.log
