package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

const eightTokens = "[33 33 24 21 43 37 34 43]"

func generator(t testing.TB, slots int64) *poprt.Generator {
	g := must(poprt.NewGenerator(model("../../data/generation/genai"), &poprt.GeneratorOptions{Threads: 1, Slots: slots}))
	t.Cleanup(func() { g.Close() })
	return g
}

func sequence(t testing.TB, g *poprt.Generator, maxNewTokens float64) *poprt.Sequence {
	s := must(g.NewSequence(6, 42, 26))
	t.Cleanup(func() { s.Close() })
	ok(t, s.SetOption("max_new_tokens", maxNewTokens))
	ok(t, s.SetOption("ignore_stop", 1))
	return s
}

func TestScenario85Generate(t *testing.T) {
	g := generator(t, 2)
	equal(t, fmt.Sprint(g.MaxLength(), g.Slots(), g.Vocabulary()), "64 2 53")
	first, second := sequence(t, g, 8), sequence(t, g, 8)
	ok(t, first.Start())
	ok(t, second.Start())
	equal(t, fmt.Sprint(must(first.ReadAll())), eightTokens)
	equal(t, first.LogProbability() < 0, true)
	equal(t, must(first.FinishReason()), "length")
	equal(t, fmt.Sprint(must(second.ReadAll())), eightTokens)
	equal(t, strings.Contains(must(g.Statistics()), `"ended":2`), true)
	path := filepath.Join(t.TempDir(), "saved.popef")
	ok(t, g.Save(path))
	saved := must(poprt.NewGenerator(path, nil))
	again := sequence(t, saved, 8)
	ok(t, saved.Close()) // the sequence keeps the generator alive
	ok(t, again.Start())
	equal(t, fmt.Sprint(must(again.ReadAll())), eightTokens)
	_, err := saved.NewSequence()
	equal(t, err, poprt.ErrClosed)
}

func TestScenario86WrongGenerators(t *testing.T) {
	_, err := poprt.NewGenerator("missing_folder", nil)
	fails(t, err, poprt.NotFound, "missing_folder")
	_, err = poprt.NewGenerator(model("affine.onnx"), nil)
	fails(t, err, poprt.Unimplemented, "input_ids")
	path := filepath.Join(t.TempDir(), "affine.popef")
	ok(t, affine(t).Save(path))
	_, err = poprt.NewGenerator(path, nil)
	fails(t, err, poprt.FailedPrecondition, "not compiled for generation")
	s := must(generator(t, 1).NewSequence())
	defer s.Close()
	fails(t, s.Append(53), poprt.InvalidArgument, "53")
	fails(t, s.SetOption("heat", 1), poprt.NotFound, "temperature")
	fails(t, s.SetOption("top_p", 2), poprt.InvalidArgument, "top_p")
	fails(t, s.Start(), poprt.InvalidArgument, "empty")
	_, err = s.Next(-1)
	fails(t, err, poprt.FailedPrecondition, "not started")
}

func TestScenario131ATextAfterWrongOptions(t *testing.T) {
	g := generator(t, 1)
	s := sequence(t, g, 8)
	fails(t, s.SetOption("heat", 1), poprt.NotFound, "temperature")
	fails(t, s.SetOption("top_p", 2), poprt.InvalidArgument, "top_p")
	fails(t, s.Append(53), poprt.InvalidArgument, "53")
	ok(t, s.SetOption("num_beams", 2))
	fails(t, s.Start(), poprt.InvalidArgument, "slots")
	ok(t, s.SetOption("num_beams", 1))
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), eightTokens)
}

func TestScenario87Logits(t *testing.T) {
	s := sequence(t, generator(t, 1), 1)
	ok(t, s.SetOption("wait_for_logits", 1))
	ok(t, s.Start())
	equal(t, must(s.WaitLogits(-1)), int64(53))
	for i := int64(0); i < 53; i++ {
		equal(t, s.Logit(i) <= s.Logit(33), true)
	}
	ok(t, s.SetLogit(5, 1e6))
	ok(t, s.Resume())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[5]")
}

func TestScenario88Ends(t *testing.T) {
	g := generator(t, 1)
	s, first, second := sequence(t, g, 0), sequence(t, g, 0), sequence(t, g, 8)
	ok(t, s.AddStopToken(24))
	ok(t, s.AddBadToken(21))
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[33 33 24]")
	equal(t, must(s.FinishReason()), "stop")
	ok(t, first.SetOption("wait_for_logits", 1))
	ok(t, first.Start())
	ok(t, second.Start())
	_, err := second.Next(1000)
	fails(t, err, poprt.DeadlineExceeded, "1000 ns")
	ok(t, first.Cancel())
	equal(t, fmt.Sprint(must(second.ReadAll())), eightTokens)
	equal(t, must(first.Next(-1)), int64(-1))
	equal(t, must(first.FinishReason()), "cancelled")
}

func TestScenario127CloseEndsWaiting(t *testing.T) {
	g := generator(t, 1)
	holder, waiting, next := sequence(t, g, 0), sequence(t, g, 8), sequence(t, g, 8)
	ok(t, holder.SetOption("wait_for_logits", 1))
	ok(t, holder.Start())
	must(holder.WaitLogits(-1)) // it has the only slot
	ok(t, waiting.Start())
	ended := make(chan error, 1)
	go func() {
		_, err := waiting.ReadAll()
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond) // it waits for a slot
	ok(t, waiting.Close())
	select {
	case err := <-ended:
		equal(t, err, poprt.ErrClosed)
	case <-time.After(time.Minute):
		t.Fatal("the call waits after Close")
	}
	equal(t, waiting.Cancel(), poprt.ErrClosed)
	ok(t, holder.Close())
	ok(t, next.Start())
	equal(t, fmt.Sprint(must(next.ReadAll())), eightTokens)
}

func eight(t testing.TB, g *poprt.Generator, source ...int64) *poprt.Sequence {
	s := must(g.NewSequence(source...))
	t.Cleanup(func() { s.Close() })
	ok(t, s.SetOption("max_new_tokens", 8))
	ok(t, s.SetOption("ignore_stop", 1))
	return s
}

func TestScenario95Encoder(t *testing.T) {
	g := must(poprt.NewGenerator(model("../../data/generation/t5"), &poprt.GeneratorOptions{Threads: 1, EncoderLength: 40}))
	defer g.Close()
	s := eight(t, g, 11, 16, 27, 26, 4)
	for _, token := range []int64{3, 8, 1} {
		ok(t, s.AppendDecoder(token))
	}
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[1 1 30 18 35 35 42 10]")
	wrong := eight(t, g, make([]int64, 41)...)
	fails(t, wrong.AppendFeature(1), poprt.InvalidArgument, "features")
	fails(t, wrong.Start(), poprt.OutOfRange, "encoder_length")
	for _, name := range []string{"t5", "genai"} {
		_, err := poprt.NewGenerator(model("../../data/generation/"+name), &poprt.GeneratorOptions{EncoderLength: 41})
		fails(t, err, poprt.InvalidArgument, "encoder_length")
	}
}

func TestScenario96Features(t *testing.T) {
	g := must(poprt.NewGenerator(model("../../data/generation/whisper"), &poprt.GeneratorOptions{Threads: 1}))
	defer g.Close()
	s := eight(t, g)
	ok(t, s.ReadFeatures(model("../../data/generation/whisper/features.npy")))
	fails(t, s.AppendFeature(1), poprt.OutOfRange, "288")
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[14 29 41 13 40 13 15 13]")
	wrong := eight(t, g)
	fails(t, wrong.ReadFeatures("missing.npy"), poprt.NotFound, "missing.npy")
	fails(t, wrong.Start(), poprt.InvalidArgument, "features")
}

func TestScenario97Beams(t *testing.T) {
	g := generator(t, 3)
	s := must(g.NewSequence(5, 9, 2))
	defer s.Close()
	for name, value := range map[string]float64{
		"num_beams": 3, "num_return_sequences": 2, "length_penalty": 2, "early_stopping": 1, "max_new_tokens": 10} {
		ok(t, s.SetOption(name, value))
	}
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[46 25 4 46 20 33 11 25 4 47]")
	equal(t, fmt.Sprintf("%.3f", s.Score()), "-0.054")
	equal(t, must(s.NextText()), true)
	equal(t, fmt.Sprint(must(s.ReadAll())), "[46 25 4 46 20 33 9 23 0 34]")
	equal(t, fmt.Sprintf("%.3f", s.Score()), "-0.065")
	equal(t, must(s.NextText()), false)
	wrong := sequence(t, g, 2)
	ok(t, wrong.SetOption("num_beams", 4))
	fails(t, wrong.Start(), poprt.InvalidArgument, "slots")
}

func TestScenario98SavedText(t *testing.T) {
	g := generator(t, 1)
	s := sequence(t, g, 8)
	ok(t, s.Start())
	for i := 0; i < 3; i++ {
		must(s.Next(-1))
	}
	path := filepath.Join(t.TempDir(), "text.bin")
	ok(t, s.Save(path))
	again := must(g.NewSequence())
	defer again.Close()
	ok(t, os.WriteFile(path+".cut", must(os.ReadFile(path))[:100], 0o600))
	fails(t, again.Restore(path+".cut"), poprt.DataLoss, "text.bin.cut")
	ok(t, again.Restore(path))
	fails(t, again.Append(1), poprt.FailedPrecondition, "saved text")
	ok(t, again.Start())
	equal(t, fmt.Sprint(must(again.ReadAll())), "[21 43 37 34 43]")
	equal(t, fmt.Sprint(must(s.ReadAll())), "[21 43 37 34 43]")
	other := must(generator(t, 2).NewSequence())
	defer other.Close()
	fails(t, other.Restore(path), poprt.FailedPrecondition, "another model")
}

func TestScenario109SavedTextInMemory(t *testing.T) {
	g := generator(t, 1)
	s := sequence(t, g, 8)
	_, err := s.SaveBytes()
	fails(t, err, poprt.FailedPrecondition, "not started")
	ok(t, s.Start())
	for i := 0; i < 3; i++ {
		must(s.Next(-1))
	}
	saved := must(s.SaveBytes())
	again := must(g.NewSequence())
	defer again.Close()
	fails(t, again.RestoreBytes(saved[:100]), poprt.DataLoss, "damaged")
	fails(t, again.RestoreBytes(nil), poprt.DataLoss, "saved sequence")
	ok(t, again.RestoreBytes(saved))
	fails(t, again.Append(1), poprt.FailedPrecondition, "saved text")
	ok(t, again.Start())
	equal(t, fmt.Sprint(must(again.ReadAll())), "[21 43 37 34 43]")
	equal(t, fmt.Sprint(must(s.ReadAll())), "[21 43 37 34 43]")
	other := must(generator(t, 2).NewSequence())
	defer other.Close()
	fails(t, other.RestoreBytes(saved), poprt.FailedPrecondition, "another model")
}

func TestScenario110ByteCaches(t *testing.T) {
	options := poprt.GeneratorOptions{Threads: 1, CachePrecision: "int8"}
	folder := model("../../data/generation")
	g := must(poprt.NewGenerator(folder+"/genai", &options))
	defer g.Close()
	equal(t, strings.Contains(must(g.Statistics()), "\"cache_bytes\":4096"), true)
	path := filepath.Join(t.TempDir(), "bytes.popef")
	ok(t, g.Save(path))
	saved := must(poprt.NewGenerator(path, &options))
	defer saved.Close()
	s, exact := sequence(t, saved, 8), generator(t, 1)
	wanted := sequence(t, exact, 8)
	ok(t, s.Start())
	ok(t, wanted.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), fmt.Sprint(must(wanted.ReadAll())))
	ok(t, exact.Save(path))
	refused := func(path, why string) {
		_, err := poprt.NewGenerator(path, &options)
		fails(t, err, poprt.InvalidArgument, why)
	}
	refused(path, "the PopEF file was compiled without it")
	options.MaxLength = 64
	refused(folder+"/lstm", "cache_precision")
	options.CachePrecision = "int4"
	refused(folder+"/genai", "cache_precision")
}

func TestScenario99NamedStates(t *testing.T) {
	lstm := model("../../data/generation/lstm")
	g := must(poprt.NewGenerator(lstm+"/model.onnx",
		&poprt.GeneratorOptions{MaxLength: 64, States: "h%d_in=h%d_out,c%d_in=c%d_out"}))
	defer g.Close()
	s := eight(t, g, 36, 37, 43)
	ok(t, s.Start())
	equal(t, fmt.Sprint(must(s.ReadAll())), "[17 1 6 52 30 7 48 19]")
	_, err := poprt.NewGenerator(lstm, &poprt.GeneratorOptions{States: "h%d_in"})
	fails(t, err, poprt.InvalidArgument, "past=present")
	_, err = poprt.NewGenerator(lstm, &poprt.GeneratorOptions{States: "none_in=none_out"})
	fails(t, err, poprt.NotFound, "none_out")
}

// Thousands of goroutines wait for tokens, logits and texts of sequences that have no slot yet.
func TestWaitingForTokensNeedsNoThreads(t *testing.T) {
	const count = 2000
	g := generator(t, 1)
	first := sequence(t, g, 1)
	ok(t, first.SetOption("wait_for_logits", 1))
	ok(t, first.Start())
	equal(t, must(first.WaitLogits(-1)), int64(53)) // it has the slot until it is cancelled
	before := threads(t)
	var waiting, done sync.WaitGroup
	waiting.Add(count)
	done.Add(count)
	for i := 0; i < count; i++ {
		s := sequence(t, g, 1)
		if i%3 == 1 {
			ok(t, s.SetOption("wait_for_logits", 1))
		}
		ok(t, s.Start())
		go func(i int) {
			defer done.Done()
			_, err := s.Next(int64(100 * time.Millisecond))
			waiting.Done()
			fails(t, err, poprt.DeadlineExceeded, "100000000 ns")
			switch i % 3 {
			case 0:
				equal(t, must(s.Next(-1)), int64(33))
			case 1:
				equal(t, must(s.WaitLogits(-1)), int64(53))
				ok(t, s.Resume())
				equal(t, must(s.Next(-1)), int64(33))
			case 2:
				equal(t, must(s.NextText()), false)
				equal(t, must(s.Next(-1)), int64(33))
			}
			equal(t, must(s.Next(-1)), int64(-1))
		}(i)
	}
	waiting.Wait()
	ok(t, first.Cancel())
	done.Wait()
	// Go starts another thread for each short call of C that the system interrupts, so a busy machine adds some. A
	// thread for each goroutine that waits would be 2000.
	if n := threads(t) - before; n > count/10 {
		t.Errorf("%d goroutines that wait have %d threads", count, n)
	}
}

// A call that waits ends when the sequence is cancelled or closed.
func TestWaitingForATokenEnds(t *testing.T) {
	g := generator(t, 1)
	first := sequence(t, g, 1)
	ok(t, first.SetOption("wait_for_logits", 1))
	ok(t, first.Start())
	for _, end := range []func(*poprt.Sequence){
		func(s *poprt.Sequence) { ok(t, s.Close()) },
		func(s *poprt.Sequence) { ok(t, s.Cancel()) },
	} {
		s := sequence(t, g, 1)
		ok(t, s.Start())
		_, err := s.Next(0)
		fails(t, err, poprt.DeadlineExceeded, "0 ns")
		results := make(chan error, 2)
		go func() {
			token, err := s.Next(-1)
			if err == nil && token != -1 {
				t.Errorf("token %d", token)
			}
			results <- err
		}()
		end(s)
		if err := <-results; err != nil {
			equal(t, err, error(poprt.ErrClosed))
		}
	}
	_, err := must(g.NewSequence()).NextText()
	fails(t, err, poprt.FailedPrecondition, "not started")
}
