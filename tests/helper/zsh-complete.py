"""What zsh makes of a line and TAB: runs it in a pseudo terminal with completions from FPATH, types LINE and a TAB,
prints what stands on the line then.  usage: zsh-complete.py FPATH LINE"""
import os
import pty
import re
import select
import sys
import time

fpath, line = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", PS1="", LC_ALL="C.UTF-8")
    os.execvp("zsh", ["zsh", "-f", "-i"])


def read(until, seconds=20):
    got = b""
    end = time.time() + seconds
    while time.time() < end and not re.search(until, got):
        if select.select([fd], [], [], 0.2)[0]:
            try:
                got += os.read(fd, 65536)
            except OSError:
                break
    return got


os.write(fd, b"unsetopt zle_bracketed_paste 2>/dev/null; PS1='PROMPT>'; fpath=('%s' $fpath); autoload -Uz compinit; "
         b"compinit -u -D; stty cols 200; zstyle ':completion:*' list-prompt ''; echo REA''DY\n" % fpath.encode())
ready = read(rb"READY\r?\n")
if not re.search(rb"READY", ready):
    sys.exit("zsh did not come up: %r" % ready[-500:])
# an accept-line that prints the line instead of running it
os.write(fd, b"show-line() { print -r -- \"<<$BUFFER>>\" >/dev/tty; BUFFER=; zle accept-line }; zle -N show-line; "
         b"bindkey '^X' show-line; echo SE''T\n")
read(rb"SET\r?\n")
os.write(fd, line.encode() + b"\t")
read(rb"(?!)", 3)
os.write(fd, b"\x18")
got = read(rb"<<.*>>")
found = re.findall(rb"<<(.*?)>>", got)
os.close(fd)
if not found:
    sys.exit("no line came back: %r" % got[-500:])
print(found[-1].decode("utf-8", "replace"))
