# no-headroom: 460 + 10 of 512 MiB are 91.8 %. refault: 12,000 x 4 KiB = 46.9 MiB of 500 - 200 = 300 MiB: 15.6 %.
perfbox oomcheck --root @oom-findings
