package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestACrowdsMemoryIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		c := newCrowd()
		c.free = func() { freed++ }
		join := func(n int) {
			for range n {
				c.joined()
				synctest.Wait()
			}
		}
		if err := c.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		join(crowdSize - 1)
		time.Sleep(time.Hour)
		if synctest.Wait(); freed != 0 {
			t.Errorf("freed %d times after a few", freed)
		}
		for range 10 { // they go on coming
			join(1)
			time.Sleep(crowdQuiet / 2)
		}
		if synctest.Wait(); freed != 0 {
			t.Errorf("freed %d times while they came", freed)
		}
		time.Sleep(time.Hour)
		if synctest.Wait(); freed != 1 {
			t.Errorf("freed %d times after a crowd", freed)
		}
		join(1)
		time.Sleep(time.Hour)
		if synctest.Wait(); freed != 1 {
			t.Errorf("freed %d times after one more", freed)
		}
		for range 2 {
			if err := c.stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		c.joined()
	})
}
