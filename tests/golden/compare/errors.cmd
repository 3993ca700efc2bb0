perfbox compare @run-before
perfbox compare @run-before @run-fixed @run-worse
perfbox compare @run-before nowhere
