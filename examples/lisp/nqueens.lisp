(define (safe? row distance placed)
  (if (null? placed) 1
      (if (= (first placed) row) nil
          (if (= (first placed) (+ row distance)) nil
              (if (= (first placed) (- row distance)) nil
                  (safe? row (+ distance 1) (rest placed)))))))
(define (place n left placed) (if (= left 0) 1 (try 0 n left placed)))
(define (try row n left placed)
  (if (= row n) 0
      (+ (if (safe? row 1 placed) (place n (- left 1) (cons row placed)) 0)
         (try (+ row 1) n left placed))))
(define (main n) (place 10 10 nil))
