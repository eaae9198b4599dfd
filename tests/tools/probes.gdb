# Prints, at each probe that fires, the line that probes.c prints for it into the file $PRINTED.
set confirm off
set may-call-functions off
set breakpoint pending on
tbreak main
commands
  silent
end
run > "$PRINTED"

break -probe-stap kolk:alloc
commands
  silent
  printf "alloc %s %p %u\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2
  continue
end
break -probe-stap kolk:free
commands
  silent
  printf "free %s %p\n", (char *)$_probe_arg0, $_probe_arg1
  continue
end
break -probe-stap kolk:full
commands
  silent
  printf "full %s %u\n", (char *)$_probe_arg0, $_probe_arg1
  continue
end
break -probe-stap kolk:grow
commands
  silent
  printf "grow %s %u %u\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2
  continue
end
break -probe-stap kolk:stale_handle
commands
  silent
  printf "stale_handle %s %llx\n", (char *)$_probe_arg0, $_probe_arg1
  continue
end
break -probe-stap kolk:init
commands
  silent
  printf "init %s %s\n", (char *)$_probe_arg0, (char *)$_probe_arg1
  continue
end
break -probe-stap kolk:deinit
commands
  silent
  printf "deinit %s\n", (char *)$_probe_arg0
  continue
end
break -probe-stap kolk:empty
commands
  silent
  printf "empty %s\n", (char *)$_probe_arg0
  continue
end
break -probe-stap kolk:wait
commands
  silent
  printf "wait %s %s\n", (char *)$_probe_arg0, (char *)$_probe_arg1
  continue
end
break -probe-stap kolk:waited
commands
  silent
  printf "waited %s %s %d\n", (char *)$_probe_arg0, (char *)$_probe_arg1, $_probe_arg2
  continue
end
break -probe-stap kolk:leak
commands
  silent
  printf "leak %s\n", (char *)$_probe_arg0
  continue
end
continue
