// Package thumbnail makes small versions of images.
//
// It owns decoding, scaling and the bounds of both. It must never know where images come from or who sees them.
package thumbnail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // decodes
	"image/jpeg"
	"image/png"
)

// ErrNone means that an image needs or has no small version: it is small, too large to decode, or of another format.
var ErrNone = errors.New("no thumbnail")

const (
	maxPixels = 24 << 20
	quality   = 80
	// atOnce bounds how many images are decoded at the same time. Each needs up to 200 MiB.
	atOnce = 2
)

// Maker makes thumbnails that fit in a box. Make it with New.
type Maker struct {
	width, height int
	slots         chan struct{}
}

// New returns a Maker for a box in pixels.
func New(width, height int) *Maker {
	return &Maker{width: width, height: height, slots: make(chan struct{}, atOnce)}
}

// Of returns the small version of an image, as PNG if it has transparent parts and otherwise as JPEG, and its content
// type. The error is ErrNone or the context's.
func (m *Maker) Of(ctx context.Context, content []byte) (small []byte, contentType string, err error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%w: %w", ErrNone, err)
	case config.Width*config.Height > maxPixels || config.Width <= m.width && config.Height <= m.height:
		return nil, "", ErrNone
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	whole, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	scaled := scale(whole, min(float64(m.width)/float64(config.Width), float64(m.height)/float64(config.Height)))
	var written bytes.Buffer
	if scaled.Opaque() {
		err = jpeg.Encode(&written, scaled, &jpeg.Options{Quality: quality})
		contentType = "image/jpeg"
	} else {
		err = png.Encode(&written, scaled)
		contentType = "image/png"
	}
	return written.Bytes(), contentType, err
}

// scale makes an image smaller: each pixel is the mean of those it stands for.
func scale(whole image.Image, by float64) *image.RGBA {
	from := image.NewRGBA(image.Rect(0, 0, whole.Bounds().Dx(), whole.Bounds().Dy()))
	draw.Draw(from, from.Rect, whole, whole.Bounds().Min, draw.Src)
	width, height := max(1, int(float64(from.Rect.Dx())*by)), max(1, int(float64(from.Rect.Dy())*by))
	scaled := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		top, bottom := y*from.Rect.Dy()/height, (y+1)*from.Rect.Dy()/height
		for x := range width {
			left, right := x*from.Rect.Dx()/width, (x+1)*from.Rect.Dx()/width
			scaled.SetRGBA(x, y, mean(from, image.Rect(left, top, right, bottom)))
		}
	}
	return scaled
}

func mean(of *image.RGBA, area image.Rectangle) color.RGBA {
	var sum [4]int
	for y := area.Min.Y; y < area.Max.Y; y++ {
		row := of.Pix[of.PixOffset(area.Min.X, y):of.PixOffset(area.Max.X, y)]
		for i, value := range row {
			sum[i%4] += int(value)
		}
	}
	n := area.Dx() * area.Dy()
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), uint8(sum[3] / n)} //nolint:gosec // means of bytes
}
