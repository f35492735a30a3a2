"""PopEF with the documented names: written data is read back and mapped without a copy; errors."""

import gc
import io
import os
import tempfile
import unittest
import weakref

import numpy as np
import poprt
import popef
from poprt.compiler import Compiler, CompilerOptions

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
RANDOM = np.random.default_rng(7)
CODE = RANDOM.integers(0, 4, 100000, dtype=np.uint8).tobytes()
WEIGHTS = RANDOM.normal(size=(2, 3)).astype(np.float16)
IMAGES = RANDOM.normal(size=(3, 2, 2)).astype(np.float32)
# Writers and readers of every element type that PopEF has.
TYPES = ("BOOL", "F8", "F16", "F32", "F64", "S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64", "F8143", "F8152")


def sample_metadata(executable="model"):
    m = popef.Metadata()
    m.setExecutable(executable)
    m.setReplicationFactor(2)
    m.setNumIpus(4)
    m.setIpuVersion(21)
    m.setIsPOD(True)
    m.setNumProcesses(3)
    m.setIsInference(False)
    m.setDeviceIterations(2**40)
    m.setSeedHandle("h2d_seed")
    m.engineOptions().extend([popef.Option("b", "1"), popef.Option("a", "")])
    m.setDeviceOptions([popef.Option("tiles", "16")])
    m.setProgramFlow(popef.ProgramFlow(load=[0, 2], save=[7, 3]))
    m.programFlow().setMain([5])
    m.programsMap()[5] = "størrelse"
    m.programsMap()[0] = "WeightsFromHost"
    f32 = popef.TensorInfo(popef.DataType.F32, [2, 2])
    m.anchors().append(popef.Anchor("x", "h2d_x", f32, popef.TensorType.INPUT, [5], True))
    w = popef.Anchor()
    w.setName("w")
    w.setTensorInfo(popef.TensorInfo())
    w.tensorInfo().setDataType(popef.DataType.F16)
    w.tensorInfo().setShape([2, 3])
    m.anchors().append(w)
    m.anchors().append(popef.Anchor("fed", "h2d_fed", f32, popef.TensorType.INPUT, [5]))
    m.anchors().append(popef.Anchor("y", "d2h_y", popef.TensorInfo(popef.DataType.F8143), popef.TensorType.OUTPUT, [5]))
    return m


def write_sample(writer, compress=False):
    writer.writeMetadata(sample_metadata())
    writer.createExecutable("model", compress).write(CODE, len(CODE))
    writer.createOpaqueBlob("notes", "model").write(b"free text", 9)
    info = popef.TensorDataInfo("w", popef.TensorInfo(popef.DataType.F16, [2, 3]))
    writer.createTensorData(info).write(WEIGHTS, WEIGHTS.nbytes)
    feed = writer.createFeedData(popef.FeedDataInfo("fed", popef.TensorInfo(popef.DataType.F32, [2, 2]), 3))
    for image in IMAGES:
        feed.write(image)
    writer.close()


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "størrelse.popef")

    def sample(self, compress=False):
        write_sample(popef.Writer(self.path), compress)
        reader = popef.Reader()
        reader.parseFile(self.path)
        return reader

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()


class Scenarios(Files):
    """The scenarios of tests/bindings/README.md about PopEF."""

    def test_scenario_51_read_a_popef_file(self):
        executable = Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(input_shape={"x": [2, 4]}))
        executable.save(self.path)
        reader = popef.Reader()
        reader.parseFile(self.path)
        program, = reader.executables()
        self.assertEqual(program.name, executable.name)
        anchors = {a.name(): a for a in reader.metadata()[0].anchors()}
        for name, kind in (("x", popef.TensorType.INPUT), ("y", popef.TensorType.OUTPUT)):
            info = anchors[name].tensorInfo()
            self.assertEqual((anchors[name].type(), info.dataType(), info.shape()),
                             (kind, popef.DataType.F32, [2, 4]))
        model = popef.ModelBuilder(reader).createModel()
        self.assertEqual((model.getUserInputAnchors(), model.getUserOutputAnchors()), ([anchors["x"]], [anchors["y"]]))
        self.assertEqual(model.metadata, reader.metadata()[0])
        with self.assertRaisesRegex(poprt.errors.FailedPreconditionError, "nope"):
            popef.ModelBuilder(reader).createModel("nope")

        code = program.executable()
        self.assertIn(code, self.content())
        self.assertEqual(program.read(5, 10), code[5:15])
        for offset in (len(code) - 9, -1):
            with self.assertRaises(poprt.errors.OutOfRangeError):
                program.read(offset, 10)
        mapped = program.data()
        del reader, program
        gc.collect()
        self.assertEqual(bytes(mapped), code)
        self.assertEqual(model.executable.executable(), code)
        with self.assertRaisesRegex(FileNotFoundError, "missing.popef"):
            popef.Reader().parseFile("missing.popef")
        with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, "affine.onnx"):
            popef.Reader().parseFile(os.path.join(DATA, "affine.onnx"))

    def test_scenario_52_export_tensors_and_feeds(self):
        self.sample()
        npy = os.path.join(self.folder, "exported.npy")
        poprt.export_popef_tensor(self.path, "w", npy)
        np.testing.assert_array_equal(np.load(npy), WEIGHTS)
        poprt.export_popef_feed(self.path, "fed", npy)
        np.testing.assert_array_equal(np.load(npy), IMAGES)
        for export in (poprt.export_popef_tensor, poprt.export_popef_feed):
            with self.assertRaisesRegex(poprt.errors.NotFoundError, "nope"):
                export(self.path, "nope", npy)

    def test_scenario_52_write_a_popef_file(self):
        for compress in (False, True):
            reader = self.sample(compress)
            self.assertEqual(reader.metadata(), [sample_metadata()])
            model, = popef.ModelBuilder(reader).createModels()
            self.assertEqual((model.executable.executable(), model.executable.isCompressed()), (CODE, compress))
            self.assertEqual([bytes(b.data()) for b in model.opaqueBlobs], [b"free text"])
            np.testing.assert_array_equal(model.tensors[0].data(), WEIGHTS)
            np.testing.assert_array_equal(model.feeds[0].data(), IMAGES)
            self.assertEqual([a.name() for a in model.getUserInputAnchors() + model.getUserOutputAnchors()], ["x", "y"])
        before = self.content()
        info = popef.TensorDataInfo("w", popef.TensorInfo(popef.DataType.F16, [2, 3]))
        writer = popef.Writer(self.path)
        writer.createOpaqueBlob("lost", "")
        del writer
        writer = popef.Writer(self.path)
        blob = writer.createTensorData(info)
        blob.write(WEIGHTS, 11)
        with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, "12.*11|11.*12"):
            writer.close()
        with self.assertRaises(poprt.errors.FailedPreconditionError):
            writer.close()
        del writer, blob
        self.assertEqual(self.content(), before)
        with popef.FileWriter(self.path, popef.FileWriter.Mode.APPEND) as writer:
            writer.createTensorData(info, "model").write(CODE[:12])
        reader = popef.Reader()
        reader.parseFile(self.path)
        self.assertEqual(popef.ModelBuilder(reader).createModel("model").tensors[0].data().tobytes(), CODE[:12])


class Reading(Files):
    def test_metadata_comes_back(self):
        found, = self.sample().metadata()
        self.assertEqual(found, sample_metadata())
        for name in ("replicationFactor", "numIpus", "ipuVersion", "isPOD", "numProcesses", "isInference",
                     "deviceIterations", "executable", "seedHandle"):
            self.assertEqual(getattr(found, name)(), getattr(sample_metadata(), name)(), name)
        self.assertEqual([(o.name(), o.value()) for o in found.engineOptions()], [("b", "1"), ("a", "")])
        self.assertEqual(found.programFlow().load() + found.programFlow().main() + found.programFlow().save(),
                         [0, 2, 5, 7, 3])
        self.assertEqual(found.programsMap(), {0: "WeightsFromHost", 5: "størrelse"})
        x = found.anchors()[0]
        self.assertEqual((x.name(), x.handle(), x.type(), x.programs(), x.isPerReplica()),
                         ("x", "h2d_x", popef.TensorType.INPUT, [5], True))
        self.assertEqual(x.tensorInfo().sizeInBytes(), 16)
        found.setNumIpus(5)
        self.assertNotEqual(found, sample_metadata())

    def test_blobs_come_back(self):
        for compress in (False, True):
            reader = self.sample(compress)
            executable, = reader.executables()
            self.assertEqual((executable.name, executable.isCompressed()), ("model", compress))
            self.assertEqual(executable.executable(), CODE)
            self.assertEqual(executable.read(70000, 100), CODE[70000:70100])
            opaque, = reader.opaqueBlobs()
            self.assertEqual((opaque.name, opaque.executable, bytes(opaque.data())), ("notes", "model", b"free text"))
            self.assertEqual(opaque.getAvailableReadSize(), 9)
            tensor, = reader.tensors()
            self.assertEqual((tensor.info.name(), tensor.info.tensorInfo().shape()), ("w", [2, 3]))
            np.testing.assert_array_equal(tensor.data(), WEIGHTS)
            self.assertEqual(tensor.data().tobytes(), WEIGHTS.tobytes())
            feed, = reader.feeds()
            self.assertEqual(feed.info.numTensors(), 3)
            np.testing.assert_array_equal(feed.data(), IMAGES)
            self.assertEqual(reader.warnings(), [])
        self.assertLess(os.path.getsize(self.path), len(CODE))

    def test_data_is_the_map_itself(self):
        reader = self.sample()
        tensor, = reader.tensors()
        a, b = tensor.data(), tensor.data()
        self.assertEqual(a.ctypes.data, b.ctypes.data)
        self.assertFalse(a.flags.writeable)
        with self.assertRaises(ValueError):
            a[0, 0] = 1
        view = reader.opaqueBlobs()[0].data()
        self.assertTrue(view.readonly)
        code = reader.executables()[0].data()
        self.assertEqual(np.frombuffer(code, np.uint8).ctypes.data % 4096, 0)  # a page of the file

    def test_data_outlives_its_reader(self):
        reader = self.sample()
        tensor = reader.tensors()[0]
        data, gone = tensor.data(), weakref.ref(reader)
        view = reader.opaqueBlobs()[0].data()
        del reader, tensor
        gc.collect()
        self.assertIsNone(gone())
        os.remove(self.path)
        np.testing.assert_array_equal(data, WEIGHTS)
        self.assertEqual(bytes(view), b"free text")

    def test_every_type_and_empty_shapes(self):
        infos = {}
        with popef.Writer(self.path) as writer:
            for name in TYPES:
                data_type = popef.DataType[name]
                infos[name] = np.arange(6).astype(popef.popefTypeToNumpyDType(data_type)).reshape(2, 3)
                info = popef.TensorDataInfo(name, popef.TensorInfo(data_type, [2, 3]))
                self.assertEqual(info.tensorInfo().sizeInBytes(), infos[name].nbytes)
                writer.createTensorData(info).write(infos[name])
            writer.createTensorData(popef.TensorDataInfo("empty", popef.TensorInfo(popef.DataType.F32, [0, 4])))
            scalar = popef.TensorDataInfo("scalar", popef.TensorInfo(popef.DataType.S32))
            writer.createTensorData(scalar).write(np.array(41, np.int32))
        reader = popef.Reader()
        reader.parseFile(self.path)
        found = {t.info.name(): t.data() for t in reader.tensors()}
        kept = {t.info.name(): t.info.tensorInfo().dataType() for t in reader.tensors()}
        for name in TYPES:
            self.assertIs(kept[name], popef.DataType[name])
            np.testing.assert_array_equal(found[name], infos[name])
            self.assertEqual(found[name].dtype, infos[name].dtype)
        self.assertEqual(found["empty"].shape, (0, 4))
        self.assertEqual((found["scalar"].shape, int(found["scalar"])), ((), 41))

    def test_files_and_streams_accumulate(self):
        self.sample()
        part = io.BytesIO()
        write = popef.Writer(part)
        write.createOpaqueBlob("more", "model").write(b"more")
        write.close()
        reader = popef.Reader()
        reader.parseFile(self.path)
        held = reader.opaqueBlobs()[0]
        stream = io.BytesIO(b"before" + part.getvalue() + b"behind")
        stream.seek(6)
        reader.parseStream(stream, len(part.getvalue()))
        self.assertEqual([o.name for o in reader.opaqueBlobs()], ["notes", "more"])
        self.assertEqual(bytes(held.data()), b"free text")

    def test_errors_are_built_in_ones(self):
        self.sample()
        for path, kinds in (("missing.popef", (FileNotFoundError, poprt.errors.NotFoundError)),
                            (__file__, (EOFError, poprt.errors.DataLossError))):
            for kind in (*kinds, RuntimeError, popef.Error):
                with self.assertRaises(kind):
                    popef.Reader().parseFile(path)
        reader = popef.Reader()
        reader.parseFile(self.path)
        with self.assertRaisesRegex(poprt.errors.FailedPreconditionError, "twice"):
            reader.parseFile(self.path)
        with self.assertRaises(IndexError):
            reader.executables()[0].read(len(CODE), 1)
        whole = self.content()
        for size in (1, 63, 64, 1000, len(whole) - 1):
            with self.assertRaises(EOFError):
                popef.Reader().parseStream(io.BytesIO(whole[:size]))


class Models(Files):
    def test_models_are_put_together(self):
        reader = self.sample()
        for model in (popef.ModelBuilder(reader).createModel(), popef.ModelBuilder(reader).createModel("model"),
                      *popef.ModelBuilder(reader).createModels()):
            self.assertEqual(model.metadata, sample_metadata())
            self.assertEqual(model.executable.name, "model")
            self.assertEqual([len(x) for x in (model.tensors, model.feeds, model.opaqueBlobs)], [1, 1, 1])
            self.assertEqual([a.name() for a in model.getUserInputAnchors()], ["x"])
            self.assertEqual([a.name() for a in model.getUserOutputAnchors()], ["y"])
            self.assertEqual(model.warnings(), [])
        del reader
        np.testing.assert_array_equal(model.tensors[0].data(), WEIGHTS)

    def test_links_that_do_not_fit(self):
        with self.assertRaisesRegex(poprt.errors.FailedPreconditionError, "no executable"):
            popef.ModelBuilder(popef.Reader()).createModel()
        reader = self.sample()
        with self.assertRaisesRegex(popef.Error, "'none'"):
            popef.ModelBuilder(reader).createModel("none")
        stream = io.BytesIO()
        with popef.Writer(stream) as writer:
            writer.writeMetadata(sample_metadata("lost"))
        reader.parseStream(io.BytesIO(stream.getvalue()))
        for make in (popef.ModelBuilder(reader).createModel, popef.ModelBuilder(reader).createModels):
            with self.assertRaisesRegex(popef.Error, "'lost'"):
                make()


class Writing(Files):
    def test_a_file_is_written_again_with_compression(self):
        """A script in the form of published ones reads and writes every blob, and compresses executables."""
        reader = self.sample()
        before = self.content()
        path = os.path.join(self.folder, "compressed.popef")
        w = popef.Writer(path)
        for m in reader.metadata():
            w.writeMetadata(m)
        for e in reader.executables():
            data = e.executable()
            w.createExecutable(e.name, True).write(data, len(data))
        for o in reader.opaqueBlobs():
            w.createOpaqueBlob(o.name, o.executable).write(o.data(), len(o.data()))
        for t in reader.tensors():
            data = t.data().tobytes()
            w.createTensorData(t.info).write(data, len(data))
        for f in reader.feeds():
            data = f.data().tobytes()
            w.createFeedData(f.info).write(data, len(data))
        w.close()
        again = popef.Reader()
        again.parseFile(path)
        self.assertEqual(again.executables()[0].executable(), CODE)
        self.assertEqual(again.metadata(), reader.metadata())
        np.testing.assert_array_equal(again.feeds()[0].data(), IMAGES)
        self.assertLess(os.path.getsize(path), len(before) // 2)

    def test_paths_and_streams_get_the_same_bytes(self):
        self.sample()
        stream = io.BytesIO()
        write_sample(popef.Writer(stream))
        self.assertEqual(stream.getvalue(), self.content())

    def test_program_indices_have_32_bits(self):
        def flow(m, program):
            m.programFlow().setMain([0, program])

        def name(m, program):
            m.programsMap()[program] = "late"

        def anchor(m, program):
            m.anchors()[0].setPrograms([program])

        for change in (flow, name, anchor):
            for program in (-1, 1 << 32, 1 << 64):
                metadata = sample_metadata()
                change(metadata, program)
                with popef.Writer(io.BytesIO()) as writer, self.subTest(change.__name__, program=program):
                    with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, f"index {program}$"):
                        writer.writeMetadata(metadata)
            metadata = sample_metadata()
            change(metadata, 0xFFFFFFFF)
            with popef.Writer(io.BytesIO()) as writer:
                writer.writeMetadata(metadata)

    def test_append(self):
        self.sample()
        before = self.content()
        with popef.FileWriter(self.path, popef.FileWriter.Mode.APPEND) as writer:
            writer.createOpaqueBlob("poptorch", "model").write(b"pickle")
        self.assertTrue(self.content().startswith(before))
        reader = popef.Reader()
        reader.parseFile(self.path)
        self.assertEqual([o.name for o in reader.opaqueBlobs()], ["notes", "poptorch"])

    def test_an_exception_leaves_the_old_file(self):
        self.sample()
        before = self.content()
        with self.assertRaises(KeyError):
            with popef.Writer(self.path) as writer:
                writer.createOpaqueBlob("half", "model").write(b"x")
                raise KeyError
        self.assertEqual(self.content(), before)
        with self.assertRaises(KeyError):
            with popef.FileWriter(self.path) as writer:
                with writer.createOpaqueBlob("half", "model") as blob:
                    blob.write(b"x")
                    raise KeyError
        with self.assertRaises(poprt.errors.FailedPreconditionError):
            blob.write(b"y")
        self.assertEqual(self.content(), before)
        popef.Writer(self.path).createOpaqueBlob("dropped", "model").write(b"x")
        gc.collect()
        self.assertEqual(self.content(), before)

    def test_sizes_and_order_are_checked(self):
        info = popef.TensorDataInfo("t", popef.TensorInfo(popef.DataType.F32, [2]))
        writer = popef.Writer(self.path)
        blob = writer.createTensorData(info)
        blob.write(np.ones(1, np.float32))
        with self.assertRaisesRegex(ValueError, "needs 8 bytes of data, got 4"):
            blob.close()
        with self.assertRaisesRegex(popef.Error, "failed before"):
            writer.close()
        writer = popef.Writer(self.path)
        with self.assertRaisesRegex(ValueError, "takes 8 bytes"):
            writer.createTensorData(info).write(b"123456789")
        writer = popef.Writer(self.path)
        first = writer.createOpaqueBlob("first", "")
        second = writer.createOpaqueBlob("second", "")
        with self.assertRaisesRegex(popef.Error, "no longer active"):
            first.write(b"x")
        with self.assertRaises(ValueError):
            second.write(b"x", 2)
        second.write(b"xyz", 2)
        writer.close()
        writer.close()
        with self.assertRaises(popef.Error):
            writer.createOpaqueBlob("late", "")
        with self.assertRaises(popef.Error):
            popef.Writer(self.path).createExecutable("")
        with self.assertRaisesRegex(ValueError, "bf16"):
            popef.Writer(self.path).createTensorData(
                popef.TensorDataInfo("t", popef.TensorInfo(popef.DataType.BF16, [2])))
        with self.assertRaises(FileNotFoundError):
            popef.Writer(os.path.join(self.folder, "none", "x.popef"))
        with self.assertRaises(EOFError):
            popef.FileWriter(__file__, popef.FileWriter.Mode.APPEND)
        m = popef.Metadata()
        m.setNumIpus(-1)
        with self.assertRaisesRegex(ValueError, "-1"):
            popef.Writer(self.path).writeMetadata(m)
        reader = popef.Reader()
        reader.parseFile(self.path)
        self.assertEqual([bytes(o.data()) for o in reader.opaqueBlobs()], [b"", b"xy"])

    def test_arrays_that_are_not_contiguous_are_written_in_order(self):
        with popef.Writer(self.path) as writer:
            info = popef.TensorDataInfo("t", popef.TensorInfo(popef.DataType.F32, [3, 2]))
            writer.createTensorData(info).write(np.arange(6, dtype=np.float32).reshape(2, 3).T)
        reader = popef.Reader()
        reader.parseFile(self.path)
        np.testing.assert_array_equal(reader.tensors()[0].data(), [[0, 3], [1, 4], [2, 5]])

    def test_scenario_53_feeds_side_by_side_and_streams(self):
        image = popef.FeedDataInfo("image", popef.TensorInfo(popef.DataType.F32, [2, 2]), 3)
        label = popef.FeedDataInfo("label", popef.TensorInfo(popef.DataType.U8), 3)
        stream = io.BytesIO()
        for target in (self.path, stream):
            with popef.Writer(target) as writer:
                feeds = writer.createFeedGroup([image, label])
                for i in range(2):
                    feeds.writeStep([IMAGES[i], np.array(i, np.uint8)])
                feeds.write(0, IMAGES[2])
                feeds.write(1, b"\x02")
                feeds.close()
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), stream.getvalue())
        for none in (2, -1):
            feeds = popef.Writer(io.BytesIO()).createFeedGroup([image, label])
            with self.assertRaises(poprt.errors.InvalidArgumentError):
                feeds.write(none, b"\x02")
        writer = popef.Writer(io.BytesIO())
        feeds = writer.createFeedGroup([image, label])
        feeds.write(0, IMAGES)
        with self.assertRaises(poprt.errors.InvalidArgumentError):
            feeds.close()
        reader = popef.Reader()
        reader.parseFile(self.path)
        found = {f.name: f.data() for f in reader.feeds()}
        np.testing.assert_array_equal(found["image"], IMAGES)
        np.testing.assert_array_equal(found["label"], [0, 1, 2])

    def test_forwards_exceptions_of_a_stream(self):
        class Full(io.RawIOBase):
            def write(self, data):
                raise OSError(28, "full")

        writer = popef.Writer(Full())
        blob = writer.createOpaqueBlob("notes", "")
        blob.write(b"x")
        with self.assertRaisesRegex(OSError, "full"):
            blob.close()
        with self.assertRaises(popef.Error):
            writer.close()


if __name__ == "__main__":
    unittest.main()
