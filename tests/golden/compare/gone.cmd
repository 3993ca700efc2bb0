# 18 s of 5 = 3.60/s before, none afterwards under 95 % of the load (packets 47,100 / 5 s = 9,420/s and 8,949; accepts 18 and
# 17.2; switches 10,000 and 9,500): gone, status 0. One setting differs. qps 1894 / 189 = 10.0.
perfbox compare @run-before @run-fixed
