// Logarithm and exponential without the C library's libm.  Loading libm takes a tenth of the time
// in which a short program starts.
//
// Relative error below 2^-50 (tests/tracker/arithmetic_test.cc).  Uses no errno, requires rounding
// to nearest, has no state: callable anywhere, also inside malloc and in signal handlers.
#ifndef ALLOMON_TRACKER_SAMPLING_ELEMENTARY_H_
#define ALLOMON_TRACKER_SAMPLING_ELEMENTARY_H_

namespace allomon::internal {

// log(x) of a positive normal number.  Cost: 4 ns.
double Log(double x);

// log(1 + x), accurate also if 1 + x is close to 1.  x > -1.
double Log1p(double x);

// exp(x) - 1, accurate also if exp(x) is close to 1.  x <= 0.
double Expm1(double x);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SAMPLING_ELEMENTARY_H_
