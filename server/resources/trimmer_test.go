package resources

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestABurstsMemoryIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		var head atomic.Int64
		c := NewMemoryTrimmer(head.Load)
		c.free = func() { freed.Add(1) }
		join := func(n int) {
			for range n {
				c.Joined()
				synctest.Wait()
			}
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		join(burstSize - 1)
		<-time.After(time.Hour) // of the fake clock
		if synctest.Wait(); freed.Load() != 0 {
			t.Errorf("freed %d times after a few", freed.Load())
		}
		for range 10 { // connections keep arriving
			join(1)
			<-time.After(burstQuiet / 2)
		}
		if synctest.Wait(); freed.Load() != 0 {
			t.Errorf("freed %d times while they came", freed.Load())
		}
		for range 10 { // they are connected, and receive events
			head.Add(1)
			<-time.After(burstQuiet * 9 / 10)
		}
		if synctest.Wait(); freed.Load() != 0 {
			t.Errorf("freed %d times while there were events", freed.Load())
		}
		<-time.After(time.Hour) // of the fake clock
		if synctest.Wait(); freed.Load() != 1 {
			t.Errorf("freed %d times after a burst", freed.Load())
		}
		join(1)
		<-time.After(time.Hour) // of the fake clock
		if synctest.Wait(); freed.Load() != 1 {
			t.Errorf("freed %d times after one more", freed.Load())
		}
		for range 2 {
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		c.Joined()
	})
}
