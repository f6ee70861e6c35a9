package paging_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/paging"
)

func TestListIsReadToItsEndOrItsFirstError(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		pages [][]int
		err   error
		want  []int
	}{
		"empty":               {[][]int{nil}, nil, nil},
		"one page":            {[][]int{{1, 2}}, nil, []int{1, 2}},
		"an empty one within": {[][]int{{1}, nil, {2, 3}}, nil, []int{1, 2, 3}},
		"one that fails":      {[][]int{{1}, {2}}, broken, []int{1, 2}},
	} {
		var got []int
		var failed error
		for n, err := range paging.All(func(from hippo.Cursor, _ int) ([]int, hippo.Cursor, error) {
			at, _ := strconv.Atoi(from.After)
			if at == len(c.pages)-1 {
				return c.pages[at], hippo.Cursor{}, c.err
			}
			return c.pages[at], hippo.Cursor{After: strconv.Itoa(at + 1)}, nil
		}) {
			if err != nil {
				failed = err
				continue
			}
			got = append(got, n)
		}
		if !slices.Equal(got, c.want) || failed != c.err {
			t.Errorf("%s: %v, error %v", name, got, failed)
		}
	}
}
