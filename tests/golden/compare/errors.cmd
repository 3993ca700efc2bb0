perfbox compare @run-before; echo $?
perfbox compare @run-before @run-fixed @run-worse; echo $?
perfbox compare @run-before nowhere; echo $?
