(* The threads of mutators_benchmark.cc in OCaml: those of Spawn, which mutators.py writes. *)
external note_pauses : unit -> unit = "note_pauses"
external end_run : unit -> unit = "end_run"
external print_run : int -> unit = "print_run"

type value = { a : int; b : int; c : int }
type entry = Nil | Entry of { key : int; value : value; mutable next : entry }

(* As many entries as of ours, which have headers, too. *)
let entry_bytes = 64

let insert buckets bucket key =
  buckets.(bucket) <-
    Entry { key; value = { a = key; b = key; c = key }; next = buckets.(bucket) }

let rec take_last before = function
  | Nil -> assert false
  | Entry e as entry -> (
      match e.next with
      | Nil ->
          (match before with Nil -> () | Entry b -> b.next <- Nil);
          e.key + e.value.a
      | next -> take_last entry next)

let work entries steps seed =
  let count = entries / 2 in
  let buckets = Array.make count Nil in
  for i = 0 to entries - 1 do
    insert buckets (i mod count) i
  done;
  let sum = ref 0 and random = ref seed in
  for i = 0 to steps - 1 do
    random := ((!random * 25214903917) + 11) land ((1 lsl 48) - 1);
    let bucket = (!random lsr 16) mod count in
    (match buckets.(bucket) with
    | Entry { key; value; next = Nil } ->
        buckets.(bucket) <- Nil;
        sum := !sum + key + value.a
    | chain -> sum := !sum + take_last Nil chain);
    insert buckets bucket i;
    for k = 1 to 5 do
      ignore (Sys.opaque_identity { a = k; b = k; c = k })
    done
  done;
  !sum

let () =
  note_pauses ();
  let threads = int_of_string Sys.argv.(1) in
  let entries = (int_of_string Sys.argv.(2) lsl 20) / entry_bytes / threads in
  let steps = int_of_string Sys.argv.(3) * 1_000_000 / threads in
  let sums = Array.make threads 0 in
  let running =
    Array.init threads (fun t -> Spawn.spawn (fun () -> sums.(t) <- work entries steps (t + 1)))
  in
  Array.iter Spawn.join running;
  end_run ();
  Gc.compact ();
  print_run (Array.fold_left ( + ) 0 sums)
