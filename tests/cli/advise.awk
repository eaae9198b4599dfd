# A recording, as kolk record writes it, of a program whose types have known lives. tests/cli/advise.sh contains the
# advice that each type must get. With mtrace=1 there are no stacks: each line has only the innermost function.

function caller(name, frames) {
  if (mtrace) name_of[name] = "prog:(" substr(frames, 1, index(frames, " ") - 1) "+0x10)[0x1000]"
  else name_of[name] = name
  if (!mtrace) print "= Call " name " " frames
}
function thread(number) { if (!mtrace) printf "= Thread %x\n", number }
function begin(name, size) { # returns the address
  last += 32768
  printf "@ %s + 0x%x 0x%x\n", name_of[name], last, size
  return last
}
function end(name, address) { printf "@ %s - 0x%x\n", name_of[name], address }

BEGIN {
  print "= Start"
  caller("node", "node_new (tree.c:10) < insert (tree.c:44) < main (main.c:9)")
  caller("copy", "node_copy (tree.c:20) < main (main.c:9)")
  caller("node_end", "xfree (x.c:30) < node_free (tree.c:70) < main (main.c:9)")
  caller("text_end", "xfree (x.c:30) < text_free (text.c:9) < main (main.c:10)")
  caller("grid", "grid_new (grid.c:2) < main (main.c:22)")
  caller("rows", "rows_new (rows.c:2) < main (main.c:23)")
  caller("token", "token_new+0x1f (lex.c:31) < parse (parse.c:7) < main (main.c:10)")
  caller("text", "text_new (text.c:3) < parse (parse.c:8) < main (main.c:10)")
  caller("message", "message_new (mail.c:12) < send (mail.c:40)")
  caller("list", "xmalloc (x.c:5) < list_add (list.c:9) < main (main.c:11)")
  caller("leaf", "xmalloc (x.c:5) < leaf_add (leaf.c:9) < main (main.c:12)")
  caller("string", "xmalloc (x.c:5) < xstrdup (x.c:19) < main (main.c:13)")
  caller("label", "xmalloc (x.c:5) < xstrdup (x.c:19) < label (main.c:30)")
  caller("spark", "game::sparks::make(float) (sparks.cc:77) < main (main.c:14)")
  caller("buffer", "buffer_new (buffer.c:2) < main (main.c:15)")
  caller("image", "image_new (image.c:2) < main (main.c:16)")
  caller("name", "name_new (name.c:2) < main (main.c:17)")
  caller("state", "state_new (state.c:2) < main (main.c:18)")
  caller("config", "config_new (config.c:2) < main (main.c:19)")
  caller("vector", "vector_new (vector.c:2) < main (main.c:20)")
  caller("request", "request_new (request.c:2) < main (main.c:21)")

  thread(1)
  for (i = 0; i < 400; i++) leaf[i] = begin("leaf", 24) # they live to the end
  for (i = 0; i < 1500; i++) token[i] = begin("token", 32)
  for (i = 0; i < 100; i++) node[i] = begin("node", 48)
  for (i = 100; i < 3000; i++) { # 100 nodes are alive; they are replaced in scattered order
    at = i * 37 % 100
    end("node_end", node[at])
    node[at] = begin(i % 3 ? "node" : "copy", 48)
  }
  for (i = 0; i < 1000; i++) { # 20 texts are alive
    if (i >= 20) end("text_end", text[i % 20])
    text[i % 20] = begin("text", 5 + i * 7 % 60)
  }
  for (i = 0; i < 1000; i++) { # 20 in the list
    if (i >= 20) end("list", list[i % 20])
    list[i % 20] = begin("list", 40)
    if (i >= 20) end("list", string[i % 20])
    string[i % 20] = begin(i % 2 ? "label" : "string", 8 + i * 7 % 60)
  }
  for (i = 0; i < 300; i++) { # each is resized
    address = begin("buffer", 128)
    last += 32768
    printf "@ %s < 0x%x\n@ %s > 0x%x 0x200\n", name_of["buffer"], address, name_of["buffer"], last
    end("buffer", last)
  }
  for (i = 0; i < 300; i++) { # two at a time
    one = begin("image", 16384); two = begin("name", 37)
    three = begin("image", 16384); four = begin("name", 37)
    end("image", one); end("name", two); end("image", three); end("name", four)
    five = begin("state", 256)
    end("state", five)
  }
  for (i = 0; i < 50; i++) config[i] = begin("config", 64)
  for (i = 0; i < 1000; i++) { # most have 64 bytes
    if (i >= 10) end("vector", vector[i % 10])
    vector[i % 10] = begin("vector", i % 5 ? 64 : 100 + i)
  }
  for (i = 0; i < 40; i++) { # 30 at a time, all freed together
    for (j = 0; j < 30; j++) request[j] = begin("request", 112)
    for (j = 0; j < 30; j++) end("request", request[j])
  }
  for (i = 0; i < 1000; i++) { # eight on their way from thread 1 to thread 2
    if (i >= 8) { thread(2); end("message", message[i % 8]); thread(1) }
    message[i % 8] = begin("message", 80)
  }

  for (i = 0; i < 300 && !mtrace; i++) { # two arrays at a time, which happen to have one length
    if (i >= 2) { end("grid", grid[i % 2]); end("rows", rows[i % 2]) }
    last += 32768; grid[i % 2] = last
    printf "@ grid * 0x%x 0x4 0x10\n", last
    last += 32768; rows[i % 2] = last
    printf "@ rows < (nil)\n@ rows > 0x%x 0x40\n", last
  }

  # 4000 sparks, of which one in ten stays alive; then those are replaced one by one, in scattered order.
  for (i = 0; i < 4000; i++) spark[i] = begin("spark", 64)
  for (i = 0; i < 4000; i++) if (i % 10) end("spark", spark[i])
  for (i = 0; i < 4000; i++) {
    at = i * 77 % 400 * 10
    end("spark", spark[at])
    spark[at] = begin("spark", 64)
  }
  for (i = 0; i < 1500; i++) end("token", token[i])
  if (!mtrace) print "= Ran e8d4a51000 174876e800 e8d4a51000" # 1,000 seconds, of which recording took 100
  print "= End"
}
