perfbox oomcheck --root @oom-host --openmetrics --table host
