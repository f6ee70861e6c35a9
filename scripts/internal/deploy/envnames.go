package main

import (
	"reflect"
	"strings"
)

// envNames lists the variables that a struct is read from.
func envNames[T any]() []string {
	var names []string
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("env"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
