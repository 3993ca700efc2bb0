# web: 96 usable = 100 - 4 reserved; 91 taken = 90 + the listener; (90 - 70) / 2 s = 10/s; 5 free / 10 = 500 ms;
# needs 30 + 10 x 60
perfbox portrange --root @ports-mixed -N all
