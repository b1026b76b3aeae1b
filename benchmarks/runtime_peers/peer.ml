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

let garbage millions =
  let sum = ref 0 in
  for i = 0 to millions - 1 do
    for j = 0 to 999999 do ignore (Sys.opaque_identity (j, Sys.opaque_identity i)) done;
    sum := !sum + i
  done;
  !sum

let () =
  let n = int_of_string Sys.argv.(2) in
  print_int (match Sys.argv.(1) with
      | "bt" -> binary_trees n | "list" -> lists n | "map" -> map n
      | "bytes" -> byte_strings n | "garbage" -> garbage n | _ -> exit 2);
  print_newline ()
