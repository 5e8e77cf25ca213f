package thumbnail

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

func pngOf(t *testing.T, width, height int, fill color.Color) []byte {
	t.Helper()
	made := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			made.Set(x, y, fill)
		}
	}
	var written bytes.Buffer
	if err := png.Encode(&written, made); err != nil {
		t.Fatal(err)
	}
	return written.Bytes()
}

// A large image is scaled into the box with its colors; one with transparent parts stays PNG.
func TestThumbnails(t *testing.T) {
	t.Parallel()
	maker := New(400, 224)
	for name, of := range map[string]struct {
		width, height, wantWidth, wantHeight int
		fill                                 color.NRGBA
		contentType                          string
	}{
		"wide":        {1600, 448, 400, 112, color.NRGBA{200, 100, 50, 255}, "image/jpeg"},
		"tall":        {100, 2240, 10, 224, color.NRGBA{0, 0, 255, 255}, "image/jpeg"},
		"a line":      {4000, 1, 400, 1, color.NRGBA{9, 9, 9, 255}, "image/jpeg"},
		"transparent": {800, 448, 400, 224, color.NRGBA{255, 0, 0, 128}, "image/png"},
	} {
		small, contentType, err := maker.Of(t.Context(), pngOf(t, of.width, of.height, of.fill))
		if err != nil || contentType != of.contentType {
			t.Errorf("%s: %s, %v", name, contentType, err)
			continue
		}
		got, _, err := image.Decode(bytes.NewReader(small))
		if err != nil || got.Bounds().Dx() != of.wantWidth || got.Bounds().Dy() != of.wantHeight {
			t.Errorf("%s: %v, %v", name, got.Bounds(), err)
			continue
		}
		pixel, _ := color.NRGBAModel.Convert(got.At(0, 0)).(color.NRGBA)
		for i, want := range []uint8{of.fill.R, of.fill.G, of.fill.B, of.fill.A} {
			if have := []uint8{pixel.R, pixel.G, pixel.B, pixel.A}[i]; max(have, want)-min(have, want) > 8 {
				t.Errorf("%s: the color is %v", name, pixel)
			}
		}
	}
}

// Small images, other formats and images that are too large to decode have no thumbnail.
func TestNoThumbnail(t *testing.T) {
	t.Parallel()
	var huge bytes.Buffer // its header alone claims the size
	if err := jpeg.Encode(&huge, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	bomb := huge.Bytes()
	frame := bytes.Index(bomb, []byte{0xff, 0xc0})
	copy(bomb[frame+5:], []byte{0xff, 0xff, 0xff, 0xff})
	for name, content := range map[string][]byte{
		"small": pngOf(t, 400, 224, color.Black), "text": []byte("no image"), "bomb": bomb, "cut": pngOf(t, 800, 800, color.White)[:60],
	} {
		if _, _, err := New(400, 224).Of(t.Context(), content); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	maker := New(40, 40)
	maker.slots <- struct{}{}
	maker.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := maker.Of(ctx, pngOf(t, 80, 80, color.White)); !errors.Is(err, context.Canceled) {
		t.Errorf("while others are decoded: %v", err)
	}
}
