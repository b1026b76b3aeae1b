(* The workloads of runtime_benchmark.cc.  Leaves are opaque: otherwise the compiler makes
   one static constant of all of them, and half the allocations vanish. *)
type tree = Empty | Tree of tree * tree

let rec make depth =
  if depth = 0 then Tree (Sys.opaque_identity Empty, Sys.opaque_identity Empty)
  else
    let left = make (depth - 1) in
    Tree (left, make (depth - 1))

let rec check = function
  | Empty -> 0
  | Tree (Empty, _) -> 1
  | Tree (l, r) -> 1 + check l + check r

let binary_trees depth =
  let sum = ref (check (make (depth + 1))) in
  let long_lived = make depth in
  let d = ref 4 in
  while !d <= depth do
    for _ = 1 to 1 lsl (depth - !d + 4) do sum := !sum + check (make !d) done;
    d := !d + 4
  done;
  !sum + check long_lived

let build n =
  let rec go i acc = if i = n then acc else go (i + 1) (i :: acc) in go 0 []
let rec rev_map acc = function [] -> acc | x :: t -> rev_map ((x * 3 + 1) :: acc) t
let rec filter acc = function [] -> acc | x :: t -> filter (if x mod 2 = 0 then x :: acc else acc) t
let rec rev acc = function [] -> acc | x :: t -> rev (x :: acc) t
let rec sum acc = function [] -> acc | x :: t -> sum (acc + x) t
let lists rounds =
  let total = ref 0 in
  for _ = 1 to rounds do
    total := !total + sum 0 (rev [] (filter [] (rev_map [] (build 10000))))
  done;
  !total

type node = E | N of { key : int; height : int; left : node; right : node }
let height = function E -> 0 | N n -> n.height
let join left key right =
  let l = height left and r = height right in
  N { key; height = (if l > r then l else r) + 1; left; right }
let balance left key right =
  let d = height left - height right in
  if d > 2 then
    match left with
    | E -> assert false
    | N l ->
      if height l.left >= height l.right then join l.left l.key (join l.right key right)
      else (match l.right with
          | E -> assert false
          | N m -> join (join l.left l.key m.left) m.key (join m.right key right))
  else if d < -2 then
    match right with
    | E -> assert false
    | N r ->
      if height r.right >= height r.left then join (join left key r.left) r.key r.right
      else (match r.left with
          | E -> assert false
          | N m -> join (join left key m.left) m.key (join m.right r.key r.right))
  else join left key right
let rec add node (key : int) = match node with
  | E -> N { key; height = 1; left = E; right = E }
  | N n ->
    if key = n.key then node
    else if key < n.key then balance (add n.left key) n.key n.right
    else balance n.left n.key (add n.right key)
let rec min_key = function E -> assert false | N { left = E; key; _ } -> key | N n -> min_key n.left
let rec remove_min = function
  | E -> assert false
  | N { left = E; right; _ } -> right
  | N n -> balance (remove_min n.left) n.key n.right
let rec remove node (key : int) = match node with
  | E -> E
  | N n ->
    if key < n.key then balance (remove n.left key) n.key n.right
    else if key > n.key then balance n.left n.key (remove n.right key)
    else match n.left, n.right with
      | E, r -> r
      | l, E -> l
      | l, r -> balance l (min_key r) (remove_min r)
let rec sum_keys = function E -> 0 | N n -> n.key + sum_keys n.left + sum_keys n.right

(* The generator is one of 64 bits in C; here in two halves of 32, exactly. *)
let hi = ref 0 and lo = ref 42
let next () =
  let mask = 0xffffffff in
  let ah = 0x5851f42d and al = 0x4c957f2d and ch = 0x14057b7e and cl = 0xf767814f in
  let mul32 a b = (* low and high 32 bits of a 64-bit product *)
    let a1 = a lsr 16 and a0 = a land 0xffff and b1 = b lsr 16 and b0 = b land 0xffff in
    let low = a0 * b0 and mid = a1 * b0 + a0 * b1 and high = a1 * b1 in
    let t = low + ((mid land 0xffff) lsl 16) in
    (t land mask, high + (mid lsr 16) + (t lsr 32)) in
  let pl, ph = mul32 !lo al in
  let l = pl + cl in
  let h = ph + !lo * ah + !hi * al + ch + (l lsr 32) in
  lo := l land mask;
  hi := h land mask

let map operations =
  let m = ref E in
  for _ = 1 to operations do
    next ();
    let key = (!hi lsr 1) mod 200000 in
    m := if ((!hi lsl 12) lor (!lo lsr 20)) land 1 = 0 then add !m key else remove !m key
  done;
  sum_keys !m

let byte_strings count =
  let ring = Array.make 16384 Bytes.empty in
  let sum = ref 0 in
  for i = 0 to count - 1 do
    next ();
    let b = Bytes.make (8 + (!hi lsr 24)) '\000' in
    Bytes.unsafe_set b 0 (Char.unsafe_chr (i land 255));
    if i land 7 = 0 then ring.((i lsr 3) land 16383) <- b;
    sum := !sum + Bytes.length b
  done;
  !sum

let steady bytes_each =
  let n = 50_000_000 / bytes_each in
  let table = Array.make n Bytes.empty in
  for i = 0 to 13 * n - 1 do
    next ();
    let b = Bytes.make bytes_each '\000' in
    Bytes.unsafe_set b 0 (Char.unsafe_chr (i land 127));
    table.(if i < n then i else (!hi lsr 1) mod n) <- b
  done;
  Array.fold_left (fun sum b -> sum + Char.code (Bytes.get b 0)) 0 table

let garbage millions =
  let sum = ref 0 in
  for i = 0 to millions - 1 do
    for j = 0 to 999999 do ignore (Sys.opaque_identity (j, Sys.opaque_identity i)) done;
    sum := !sum + i
  done;
  !sum

(* A long-lived tree, a table, and garbage. *)
let random = ref 42
let next_random () =
  random := (!random * 1103515245 + 12345) land 0x7fffffff;
  !random

type swapped = Nil | Swap of { mutable left : swapped; mutable right : swapped }
let rec make_swap depth =
  if depth = 0 then Swap { left = Nil; right = Nil }
  else
    let right = make_swap (depth - 1) in
    Swap { left = make_swap (depth - 1); right }
let rec check_swap = function
  | Nil -> 0
  | Swap { left = Nil; _ } -> 1
  | Swap { left; right } -> 1 + check_swap left + check_swap right
let rec swap_children node path level = match node with
  | Nil -> ()
  | Swap n ->
    if level = 0 then begin
      let left = n.left in
      n.left <- n.right;
      n.right <- left
    end
    else swap_children (if path land 1 <> 0 then n.left else n.right) (path lsr 1) (level - 1)

let long_lived millions =
  let tree = make_swap 20 in
  let table = Array.make 1000000 [] in
  for i = 0 to millions * 1000000 - 1 do
    let cell = Sys.opaque_identity (i :: Sys.opaque_identity []) in
    ignore (next_random ());
    if (!random lsr 8) mod 100 = 0 then table.(next_random () mod 1000000) <- cell;
    if i land 15 = 0 then swap_children tree (!random lsr 8) 10
  done;
  Array.fold_left (fun sum cell -> match cell with [] -> sum | x :: _ -> sum + x)
    (check_swap tree) table

(* GCBench.  Records with mutable fields are never shared constants. *)
type gc_node = Null | Node of { mutable l : gc_node; mutable r : gc_node; i : int; j : int }
let new_node () = Node { l = Null; r = Null; i = 0; j = 0 }
let rec populate depth node =
  if depth > 0 then match node with
    | Null -> ()
    | Node n ->
      n.l <- new_node ();
      n.r <- new_node ();
      populate (depth - 1) n.l;
      populate (depth - 1) n.r
let rec make_gc_tree depth =
  if depth <= 0 then new_node ()
  else
    let r = make_gc_tree (depth - 1) in
    Node { l = make_gc_tree (depth - 1); r; i = 0; j = 0 }
let tree_size depth = (1 lsl (depth + 1)) - 1
let rec count_nodes = function Null -> 0 | Node n -> 1 + count_nodes n.l + count_nodes n.r
let gc_bench depth =
  let sum = ref (count_nodes (make_gc_tree (depth + 2))) in
  let long_lived = new_node () in
  populate depth long_lived;
  let numbers = Array.make 500000 0.0 in
  for i = 1 to 249999 do numbers.(i) <- 1.0 /. float_of_int i done;
  let d = ref 4 in
  while !d <= depth do
    let iterations = 2 * tree_size (depth + 2) / tree_size !d in
    for _ = 1 to iterations do populate !d (Sys.opaque_identity (new_node ())) done;
    for _ = 1 to iterations do
      sum := !sum + (match make_gc_tree !d with Null -> 0 | Node _ -> 1)
    done;
    d := !d + 2
  done;
  !sum + count_nodes long_lived + (if numbers.(1000) = 0.001 then 1 else 0)

let () =
  let n = int_of_string Sys.argv.(2) in
  print_int (match Sys.argv.(1) with
      | "bt" -> binary_trees n | "list" -> lists n | "map" -> map n
      | "bytes" -> byte_strings n | "steady" -> steady n | "garbage" -> garbage n
      | "gen" -> long_lived n | "gcbench" -> gc_bench n | _ -> exit 2);
  print_newline ()
