// Package edgefuzz posts any bytes to the functions. It stands apart from their
// other tests, which link the providers' libraries: compiled for fuzzing, those
// take longer than the fuzzing.
package edgefuzz
