# 0.667 + ... + 0.672 = 4.017 waiting of nice 0 on 2 CPUs; the nice 10 one (99 %) is not counted.
perfbox cpuwait --root @saturated
