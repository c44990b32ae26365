// The entry of a test program; the suites are in the other files.
#define BOOST_TEST_MODULE prenorm
#include <boost/test/unit_test.hpp>
