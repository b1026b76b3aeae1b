// The procedures and macros that are written in Scheme.
#include "examples/scheme/scheme.h"

namespace scheme {

const char* const kPrelude = R"scheme(
(define (call-with-values producer consumer) (%apply-values consumer (producer)))

; --- Control.
(define (dynamic-wind before thunk after)
  (before)
  (%set-winders! (cons (cons before after) (%winders)))
  (call-with-values thunk
    (lambda results
      (%set-winders! (cdr (%winders)))
      (after)
      (apply values results))))
; Leaves and enters what lies between here and there.
(define (%rewind to)
  (let ((from (%winders)))
    (cond ((eq? from to) #t)
          ((>= (length from) (length to))
           (%set-winders! (cdr from))
           ((cdar from))
           (%rewind to))
          (else
           (%rewind (cdr to))
           ((caar to))
           (%set-winders! to)))))
(define (%continue k args)
  (%rewind (%continuation-winders k))
  (apply k args))
(define (exit . status)
  (%rewind '())
  (apply emergency-exit status))

(define (with-exception-handler handler thunk)
  (let ((old (%handlers)))
    (%set-handlers! (cons handler old))
    (call-with-values thunk
      (lambda results
        (%set-handlers! old)
        (apply values results)))))
(define (raise-continuable object)
  (let ((old (%handlers)))
    (if (null? old) (%uncaught object))
    (%set-handlers! (cdr old))
    (call-with-values (lambda () ((car old) object))
      (lambda results
        (%set-handlers! old)
        (apply values results)))))
(define (raise object)
  (let ((old (%handlers)))
    (if (null? old) (%uncaught object))
    (%set-handlers! (cdr old))
    ((car old) object)
    (error "a handler has returned from raise:" object)))
(define (file-error? object) (error-object? object))
(define (read-error? object) (error-object? object))

(define-syntax guard
  (syntax-rules ()
    ((_ (var clause ...) body ...)
     ((call/cc
       (lambda (guard-k)
         (with-exception-handler
          (lambda (condition)
            ((call/cc
              (lambda (handler-k)
                (guard-k
                 (lambda ()
                   (let ((var condition))
                     (%guard-clauses
                      (handler-k (lambda () (raise-continuable condition)))
                      clause ...))))))))
          (lambda ()
            (call-with-values (lambda () body ...)
              (lambda results (guard-k (lambda () (apply values results)))))))))))))
(define-syntax %guard-clauses
  (syntax-rules (else)
    ((_ again clause ... (else body ...)) (cond clause ... (else body ...)))
    ((_ again clause ...) (cond clause ... (else again)))))

(define-syntax case-lambda
  (syntax-rules ()
    ((_ (params body ...) ...)
     (lambda args (%case-lambda args (length args) (params body ...) ...)))))
(define-syntax %case-lambda
  (syntax-rules ()
    ((_ args n) (error "case-lambda: no clause for these arguments:" args))
    ((_ args n ((p ...) body ...) clause ...)
     (if (= n (length '(p ...)))
         (apply (lambda (p ...) body ...) args)
         (%case-lambda args n clause ...)))
    ((_ args n ((p ... . rest) body ...) clause ...)
     (if (>= n (length '(p ...)))
         (apply (lambda (p ... . rest) body ...) args)
         (%case-lambda args n clause ...)))))

(define-syntax let*-values
  (syntax-rules ()
    ((_ () body ...) (let () body ...))
    ((_ ((formals init) binding ...) body ...)
     (call-with-values (lambda () init)
       (lambda formals (let*-values (binding ...) body ...))))))
(define-syntax let-values
  (syntax-rules ()
    ((_ (binding ...) body ...) (%let-values (binding ...) () (let () body ...)))))
(define-syntax %let-values
  (syntax-rules ()
    ((_ () bindings body) (let bindings body))
    ((_ ((formals init) more ...) bindings body)
     (%let-values formals init () (more ...) bindings body))
    ((_ () init args more bindings body)
     (call-with-values (lambda () init) (lambda args (%let-values more bindings body))))
    ((_ (a . b) init (arg ...) more (binding ...) body)
     (%let-values b init (arg ... x) more (binding ... (a x)) body))
    ((_ a init (arg ...) more (binding ...) body)
     (call-with-values (lambda () init)
       (lambda (arg ... . x) (%let-values more (binding ... (a x)) body))))))
(define-syntax define-values
  (syntax-rules ()
    ((_ () init) (define ignored (call-with-values (lambda () init) list)))
    ((_ (a) init) (define a init))
    ((_ (a b ... last) init)
     (begin
       (define a (call-with-values (lambda () init) list))
       (define b (let ((v (cadr a))) (set-cdr! a (cddr a)) v)) ...
       (define last (let ((v (cadr a))) (set! a (car a)) v))))
    ((_ (a b ... . rest) init)
     (begin
       (define a (call-with-values (lambda () init) list))
       (define b (let ((v (cadr a))) (set-cdr! a (cddr a)) v)) ...
       (define rest (let ((v (cdr a))) (set! a (car a)) v))))
    ((_ all init) (define all (call-with-values (lambda () init) list)))))

(define (make-parameter init . convert)
  (let* ((convert (if (pair? convert) (car convert) (lambda (x) x)))
         (value (convert init)))
    (lambda args
      (cond ((null? args) value)
            ((eq? (car args) %convert) (convert (cadr args)))
            (else (set! value (cadr args)))))))
(define %convert (list 'convert))
(define %set (list 'set))
(define (current-output-port . args)
  (cond ((null? args) (%output-port))
        ((eq? (car args) %convert) (cadr args))
        (else (%set-output-port! (cadr args)))))
(define (current-error-port) (current-output-port))
(define-syntax parameterize
  (syntax-rules ()
    ((_ () body ...) (let () body ...))
    ((_ ((parameter init) more ...) body ...)
     (let* ((p parameter) (value (p %convert init)))
       (define (swap)
         (let ((old (p)))
           (p %set value)
           (set! value old)))
       (dynamic-wind swap (lambda () (parameterize (more ...) body ...)) swap)))))

(define-record-type promise (%promise is-made value) promise?
  (is-made %is-made %set-made!)
  (value %promised %set-promised!))
(define-syntax delay-force
  (syntax-rules () ((_ expression) (%promise #f (lambda () expression)))))
(define-syntax delay
  (syntax-rules () ((_ expression) (delay-force (make-promise expression)))))
(define (make-promise value) (if (promise? value) value (%promise #t value)))
(define (force promise)
  (cond ((not (promise? promise)) promise)
        ((%is-made promise) (%promised promise))
        (else
         (let ((next ((%promised promise))))
           (unless (%is-made promise)
             (%set-made! promise (%is-made next))
             (%set-promised! promise (%promised next)))
           (force promise)))))

; --- Lists.
(define (%map f l)
  (let loop ((l l) (out '()))
    (if (pair? l) (loop (cdr l) (cons (f (car l)) out)) (reverse out))))
(define (%pairs? lists)
  (or (null? lists) (and (pair? (car lists)) (%pairs? (cdr lists)))))
(define (map f l . more)
  (if (null? more)
      (%map f l)
      (let loop ((lists (cons l more)) (out '()))
        (if (%pairs? lists)
            (loop (%map cdr lists) (cons (apply f (%map car lists)) out))
            (reverse out)))))
(define (for-each f l . more)
  (if (null? more)
      (do ((l l (cdr l))) ((not (pair? l))) (f (car l)))
      (do ((lists (cons l more) (%map cdr lists)))
          ((not (%pairs? lists)))
        (apply f (%map car lists)))))
(define (member x l . same)
  (if (null? same)
      (%member x l)
      (let loop ((l l))
        (cond ((null? l) #f) (((car same) x (car l)) l) (else (loop (cdr l)))))))
(define (assoc x l . same)
  (if (null? same)
      (%assoc x l)
      (let loop ((l l))
        (cond ((null? l) #f) (((car same) x (caar l)) (car l)) (else (loop (cdr l)))))))
(define (list-copy l) (if (pair? l) (cons (car l) (list-copy (cdr l))) l))
(define (list-set! l k x) (set-car! (list-tail l k) x))
(define (make-list n . fill)
  (vector->list (make-vector n (if (null? fill) #f (car fill)))))

; --- Numbers.
(define (square x) (* x x))
(define (gcd . numbers)
  (let loop ((a 0) (numbers numbers))
    (if (null? numbers)
        a
        (let inner ((a (abs a)) (b (abs (car numbers))))
          (if (= b 0) (loop a (cdr numbers)) (inner b (remainder a b)))))))
(define (lcm . numbers)
  (let loop ((a 1) (numbers numbers))
    (cond ((null? numbers) a)
          ((= (car numbers) 0) 0)
          (else (loop (abs (* a (quotient (car numbers) (gcd a (car numbers))))) (cdr numbers))))))
(define (floor/ a b) (values (floor-quotient a b) (floor-remainder a b)))
(define (truncate/ a b) (values (quotient a b) (remainder a b)))
(define (exact-integer-sqrt n)
  (let ((root (exact (floor (sqrt n))))) (values root (- n (* root root)))))
(define (boolean=? a b . more)
  (and (eq? a b) (or (null? more) (apply boolean=? b more))))
(define (symbol=? a b . more) (apply boolean=? a b more))
(define (char-foldcase c) (char-downcase c))

; --- Strings and vectors.
(define (string-map f . strings) (list->string (apply map f (map string->list strings))))
(define (string-for-each f . strings) (apply for-each f (map string->list strings)))
(define (string-upcase s) (string-map char-upcase s))
(define (string-downcase s) (string-map char-downcase s))
(define (string-foldcase s) (string-map char-foldcase s))
(define (vector-map f . vectors) (list->vector (apply map f (map vector->list vectors))))
(define (vector-for-each f . vectors) (apply for-each f (map vector->list vectors)))
(define (vector-append . vectors) (list->vector (apply append (map vector->list vectors))))
(define (vector->string v . range) (list->string (apply vector->list v range)))
(define (string->vector s . range) (list->vector (apply string->list s range)))

; --- Hash tables.
(define (hash-table-ref table key . fail)
  (if (hash-table-contains? table key)
      (hash-table-ref/default table key #f)
      (if (null? fail) (error "hash-table-ref: no such key:" key) ((car fail)))))
(define (hash-table-update! table key f . fail)
  (hash-table-set! table key (f (apply hash-table-ref table key fail))))
(define (hash-table-update!/default table key f default)
  (hash-table-set! table key (f (hash-table-ref/default table key default))))
(define (hash-table-keys table) (map car (hash-table->alist table)))
(define (hash-table-values table) (map cdr (hash-table->alist table)))
(define (hash-table-walk table f)
  (for-each (lambda (entry) (f (car entry) (cdr entry))) (hash-table->alist table)))

; --- Ports.
(define (call-with-port port f)
  (call-with-values (lambda () (f port))
    (lambda results
      (close-port port)
      (apply values results))))
(define (call-with-input-file path f) (call-with-port (open-input-file path) f))
(define (call-with-output-file path f) (call-with-port (open-output-file path) f))
)scheme";

}  // namespace scheme
