"""poprt.passes with its documented names, on models of the onnx package."""

import logging
import os
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx.utils
import onnx_models as m
import poprt
import poprt.passes.base_pass
from onnx_models import node
from poprt import Pass, PassManager
from poprt.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnimplementedError
from poprt.passes import ApplyIrPass, ImmutablePass, base_pass, register
from poprt.passes.onnx_helper import clean_info, get_constant, get_dtype, get_shape, topological_sort
from poprt.passes.pattern_helper import PatternMatcher


@register("test_add_to_sub")
class AddToSub(Pass):
    """Replaces Add by Sub, as the documented example does."""

    def __init__(self):
        super().__init__()

    def run_transform(self, graph, is_main_graph):
        for n in graph.node:
            if n.op_type == "Add":
                n.op_type = "Sub"
        return graph

    def run(self, onnx_model):
        onnx_model.graph.CopyFrom(self.traverse_graph(onnx_model.graph, self.run_transform))
        return onnx_model


class Scaled(Pass):
    """Is found by its attribute, without a decorator; takes an argument, and defines only __call__."""

    name = "test_scaled"

    def __init__(self, factor=2.0):
        self.factor = factor

    def __call__(self, model):
        tensor = get_constant(model.graph, "b")
        array = onnx.numpy_helper.to_array(tensor) * np.float32(self.factor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, "b"))
        return model


def run(model, **inputs):
    with poprt.Runner(poprt.Compiler.compile(model)) as runner:
        return runner.run(inputs)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Names(unittest.TestCase):
    def test_registered_passes_are_the_librarys_and_those_in_python(self):
        known = poprt.get_registered_passes()
        for name in ("eliminate_identity", "constant_folding", "test_add_to_sub", "test_scaled"):
            self.assertIn(name, known)
        self.assertIs(known["test_add_to_sub"], AddToSub)
        self.assertEqual(AddToSub.name, "test_add_to_sub")
        self.assertGreater(len(known), 60)
        typed = Pass.get_typed_registered_passes("ir")
        self.assertIn("eliminate_identity", typed)
        self.assertNotIn("test_add_to_sub", typed)
        self.assertIn("test_add_to_sub", Pass.get_typed_registered_passes("onnx"))
        self.assertEqual(Pass.get_typed_registered_passes(Scaled), {"test_scaled": Scaled})

    def test_get_pass_hands_on_arguments(self):
        self.assertEqual(poprt.get_pass("test_scaled", 5).factor, 5)
        self.assertEqual(Pass.get_pass("test_scaled", factor=7).factor, 7)
        with self.assertRaisesRegex(NotFoundError, "'test_scale'; did you mean test_scaled"):
            poprt.get_pass("test_scale")

    def test_arguments_of_the_librarys_passes(self):
        made = poprt.get_pass("remove_outputs", outputs=["a", "b"])
        self.assertEqual(made.call, ("remove_outputs", {"outputs": "a,b"}))
        self.assertEqual(poprt.get_pass("remove_outputs", ["a"]).call[1], {"outputs": "a"})
        with self.assertRaisesRegex(InvalidArgumentError, "remove_outputs: there is no argument 'output'"):
            poprt.get_pass("remove_outputs", output=["a"])
        with self.assertRaisesRegex(InvalidArgumentError, "at most"):
            poprt.get_pass("eliminate_identity", 1, 2, 3, 4, 5, 6, 7, 8)

    def test_names_are_unique_and_can_be_overridden(self):
        with self.assertRaisesRegex(ValueError, "there is a pass 'test_add_to_sub' already"):
            register("test_add_to_sub")(type("Other", (Pass,), {}))
        with self.assertRaisesRegex(ValueError, "eliminate_identity"):
            register("eliminate_identity")(type("Other", (Pass,), {}))
        with self.assertRaises(TypeError):
            register("test_no_class")(lambda model: model)
        with mock.patch.dict(base_pass._registered):
            other = Pass.override_register_pass("eliminate_identity")(type("Other", (Pass,), {"run": lambda self, model: model}))
            self.assertIs(poprt.get_registered_passes()["eliminate_identity"], other)
            self.assertIs(type(PassManager(["eliminate_identity"]).get_passes()[0]), other)

    def test_the_same_class_may_be_registered_again(self):
        register("test_add_to_sub")(AddToSub)
        self.assertIs(poprt.get_registered_passes()["test_add_to_sub"], AddToSub)

    def test_a_replaced_search_decides_the_registered_passes(self):
        """A published program changes the final check in this way."""
        class Check(ImmutablePass):
            name = "test_check_by_search"

        before = base_pass.get_all_named_subclasses
        self.assertIs(before(Pass)["test_check_by_search"], Check)
        with mock.patch.object(poprt.passes.base_pass, "get_all_named_subclasses",
                               lambda cls: {**before(cls), "final_check": Check}):
            self.assertIs(poprt.get_registered_passes()["final_check"], Check)
        self.assertIsNot(poprt.get_registered_passes()["final_check"], Check)


class Running(unittest.TestCase):
    def test_a_pass_changes_the_model(self):
        self.assertEqual(m.op_types(poprt.get_pass("test_add_to_sub")(m.add_model())), ["Sub", "Sub"])

    def test_nested_graphs_are_traversed(self):
        def branch(bias):
            return onnx.helper.make_graph(
                [node("Add", ["x", "b"], [f"t{bias}"])], f"branch{bias}", [],
                [onnx.helper.make_tensor_value_info(f"t{bias}", m.FLOAT, [2, 3])])
        model = m.make([node("If", ["c"], ["y"], then_branch=branch(0), else_branch=branch(1)), node("Add", ["y", "b"], ["z"])],
                       {"x": [2, 3], "c": ([], onnx.TensorProto.BOOL)}, {"z": [2, 3]}, {"b": np.ones(3, np.float32)})
        seen = []

        class Look(Pass):
            def run_transform(self, graph, is_main_graph):
                seen.append((graph.name, is_main_graph))
                return graph

        Look()(model)
        self.assertEqual(seen, [("graph", True), ("branch1", False), ("branch0", False)]
                         if model.graph.node[0].attribute[0].name == "else_branch"
                         else [("graph", True), ("branch0", False), ("branch1", False)])
        AddToSub()(model)
        self.assertEqual(m.op_types(model), ["If", "Sub"])
        for attribute in model.graph.node[0].attribute:
            self.assertEqual([n.op_type for n in attribute.g.node], ["Sub"])

    def test_the_error_of_a_broken_graph_names_the_pass(self):
        def change(name, value):
            def run(self, model):
                getattr(model.graph, name)[0].CopyFrom(value)
                return model
            return type("Breaks", (Pass,), {"run": run})
        wide = {"w": np.ones((3, 40000), np.float32)}  # of more bytes than a verification needs
        large = m.make([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 3]}, {"y": [2, 40000]}, wide)
        self.assertEqual(m.op_types(PassManager([change("output", large.graph.output[0])]).run(large)), ["MatMul"])
        for broken, message in (
                (node("Add", ["ghost", "x"], ["s"], name="first"), "it reads 'ghost', which nothing defines"),
                (node("Add", ["y", "x"], ["s"], name="first"), "the graph has a cycle of 2 nodes"),
                (node("Zork", ["x", "x"], ["s"], name="first"), "operator Zork of domain 'ai.onnx' is not supported"),
                (onnx.helper.make_tensor_value_info("y", m.INT64, [2, 3]), "output 'y' is declared s64 but comes out as f32")):
            breaks = change("output" if isinstance(broken, onnx.ValueInfoProto) else "node", broken)
            for run in (PassManager([breaks]).run, poprt.Converter(used_passes=[breaks()]).convert):
                with self.subTest(message), self.assertRaises(poprt.errors.Error) as caught:
                    run(m.add_model())
                self.assertTrue(str(caught.exception).startswith("the graph that pass Breaks left: "), caught.exception)
                self.assertIn(message, str(caught.exception))
        # A pass may change a model that the library does not know.
        unknown = m.make([node("Zork", ["x"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})
        self.assertEqual(m.op_types(PassManager([change("node", unknown.graph.node[0])]).run(unknown)), ["Zork"])

    def test_an_immutable_pass_leaves_the_model(self):
        class Count(ImmutablePass):
            def run_transform(self, graph, is_main_graph):
                self.count = len(graph.node)
                graph.ClearField("node")
                return graph

        model, count = m.add_model(), Count()
        self.assertIs(count(model), model)
        self.assertEqual((count.count, m.op_types(model)), (2, ["Add", "Add"]))

    def test_refuses_incomplete_passes(self):
        with self.assertRaisesRegex(NotImplementedError, "Empty defines neither run"):
            type("Empty", (Pass,), {})()(m.add_model())
        with self.assertRaisesRegex(TypeError, "returned NoneType"):
            PassManager([type("Nothing", (Pass,), {"run": lambda self, model: None})()]).run(m.add_model())
        with self.assertRaisesRegex(TypeError, "must return the graph"):
            type("Forgot", (Pass,), {"run_transform": lambda self, graph, main: None})()(m.add_model())

    def test_the_librarys_passes_run_on_models_in_memory(self):
        model = m.make([node("Identity", ["x"], ["a"]), node("Add", ["a", "b"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]},
                       {"b": np.ones(3, np.float32)})
        for made in (poprt.get_pass("eliminate_identity")(model), ApplyIrPass(["eliminate_identity"])(model),
                     poprt.optimizer.Optimizer(["eliminate_identity"]).run(model),
                     PassManager(["eliminate_identity"], gather_ir_passes=True).run(model)):
            self.assertIsInstance(made, onnx.ModelProto)
            self.assertEqual(m.op_types(made), ["Add"])
        self.assertEqual(m.op_types(model), ["Identity", "Add"])  # it is unchanged

    def test_optimizer_takes_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            onnx.save(m.add_model(), path)
            self.assertEqual(m.op_types(poprt.optimizer.Optimizer(["test_add_to_sub"]).run(path)), ["Sub", "Sub"])
        with self.assertRaisesRegex(FileNotFoundError, "there is no file 'none.onnx'"):
            poprt.optimizer.Optimizer([]).run("none.onnx")

    def test_a_class_that_published_programs_import(self):
        from poprt.passes.remove_duplicated_initializer import RemoveDuplicatedInitializer
        model = m.make([node("Add", ["x", "a"], ["s"]), node("Add", ["s", "b"], ["y"])], {"x": [3]}, {"y": [3]},
                       {"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)})
        self.assertEqual(len(RemoveDuplicatedInitializer().run(model).graph.initializer), 1)


class Manager(unittest.TestCase):
    def test_names_and_instances_are_mixed(self):
        manager = PassManager(["test_add_to_sub", Scaled(3)])
        manager.add_passes("eliminate_deadend", Scaled)
        manager.add_passes(["sort_graph"])
        self.assertEqual(manager.get_all_pass_names(),
                         ["test_add_to_sub", "test_scaled", "eliminate_deadend", "test_scaled", "sort_graph"])
        self.assertEqual([type(p).__name__ for p in manager.get_passes()][:2], ["AddToSub", "Scaled"])
        made = manager.run(m.add_model())
        self.assertEqual(m.op_types(made), ["Sub", "Sub"])
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(get_constant(made.graph, "b")), np.full(3, 18, np.float32))

    def test_gathering_makes_no_difference(self):
        names = ["eliminate_identity", "constant_folding", "test_add_to_sub", "eliminate_deadend", "unique_name_for_nodes"]
        first, second = (PassManager(names, gather_ir_passes=g).run(m.add_model()) for g in (False, True))
        self.assertEqual(first.SerializeToString(deterministic=True), second.SerializeToString(deterministic=True))

    @unittest.skipIf(sys.version_info < (3, 11), "exceptions have no notes")
    def test_an_exception_names_its_pass(self):
        def fail(self, model):
            raise KeyError("boom")

        for run in (PassManager([type("Fails", (Pass,), {"name": "test_fails", "run": fail})]).run,
                    poprt.Converter(used_passes=["test_fails"]).convert):
            with self.assertRaises(KeyError) as caught:
                run(m.add_model())
            self.assertEqual(caught.exception.__notes__, ["in pass test_fails"])

    def test_a_pass_returns_the_model(self):
        nothing = type("Nothing", (Pass,), {"name": "test_nothing", "run": lambda self, model: None})
        for run in (nothing(), PassManager([nothing]).run, poprt.get_pass("test_nothing")):
            with self.assertRaisesRegex(TypeError, "pass test_nothing must return the model; it returned NoneType"):
                run(m.add_model())

    def test_the_order_is_as_given(self):
        log = []
        with mock.patch.dict(base_pass._registered):
            for name in ("test_a", "test_b"):
                register(name)(type(name, (Pass,), {"run": lambda self, model: log.append(self.name) or model}))
            PassManager(["test_b", "test_a", "test_b"]).run(m.add_model())
        self.assertEqual(log, ["test_b", "test_a", "test_b"])

    def test_constraints_sort(self):
        def make(name, *decorators):
            cls = type(name, (Pass,), {"name": name, "run": lambda self, model: model})
            for decorate in decorators:
                cls = decorate(cls)
            return cls

        with mock.patch.dict(base_pass._registered):
            register("test_base")(make("test_base"))
            late = make("test_late", Pass.constraint_passes("depend", ["test_base"]))()
            early = make("test_early", Pass.constraint_passes("before", ["test_base", "test_none"]))()
            manager = PassManager([late, early])
            self.assertEqual([getattr(type(p), "name") for p in manager.sort_passes()], ["test_early", "test_base", "test_late"])
            self.assertEqual(manager.get_all_pass_names(), ["test_early", "test_base", "test_late"])
            enemy = make("test_enemy", Pass.against_passes(["test_late"]))()
            with self.assertRaisesRegex(FailedPreconditionError, "test_enemy and test_late do not run together"):
                PassManager([late, enemy]).sort_passes()
            circle = make("test_circle", Pass.constraint_passes("before", ["test_base"]),
                          Pass.constraint_passes("depend", ["test_base"]))()
            with self.assertRaisesRegex(FailedPreconditionError, "wait for each other"):
                PassManager([circle]).sort_passes()
        with self.assertRaisesRegex(ValueError, "against, depend, before"):
            Pass.constraint_passes("after", ["x"])

    def test_an_order_that_breaks_constraints_does_not_run(self):
        def make(name, *decorators):
            cls = type(name, (Pass,), {"run": lambda self, model: model})
            for decorate in decorators:
                cls = decorate(cls)
            return register(name)(cls)

        with mock.patch.dict(base_pass._registered):
            make("test_base")
            make("test_late", Pass.constraint_passes("depend", ["test_base"]))
            make("test_early", Pass.constraint_passes("before", ["test_base"]))
            make("test_enemy", Pass.against_passes(["test_base"]))
            for names, why in ((["test_late"], "test_late depends on pass test_base, which does not run before it; sort_passes"),
                               (["test_late", "test_base"], "test_late depends on pass test_base"),
                               (["test_base", "test_early"], "test_early must run before pass test_base"),
                               (["test_enemy", "test_base"], "test_enemy and test_base do not run together")):
                with self.assertRaisesRegex(FailedPreconditionError, why):
                    PassManager(names).run(m.add_model())
            PassManager(["test_early", "test_base", "test_late"]).run(m.add_model())

    def test_properties(self):
        cls = Pass.property_register("type", "mine")(type("Mine", (Pass,), {"name": "test_mine"}))
        self.assertEqual(cls.properties, {"type": "mine"})
        self.assertEqual(Pass.get_typed_registered_passes("mine"), {"test_mine": cls})
        self.assertEqual(Pass.properties, {})


class Converting(unittest.TestCase):
    def test_users_passes_run_after_the_default_ones(self):
        """The documented demonstration: Add becomes Sub."""
        made = poprt.Converter(used_passes=["test_add_to_sub"]).convert(m.add_model())
        self.assertEqual(m.op_types(made), ["Sub", "Sub"])
        np.testing.assert_array_equal(run(made, x=X)["y"], np.full((2, 3), -3, np.float32))
        seen = []

        class Look(Pass):
            def run(self, model):
                seen.extend(m.op_types(model))
                return model

        model = m.make([node("Identity", ["x"], ["a"]), node("Relu", ["a"], ["y"])], {"x": [2]}, {"y": [2]})
        poprt.Converter(used_passes=[Look()]).convert(model)
        self.assertEqual(seen, ["Relu"])  # the Identity has been removed before

    def test_skipped_passes_do_not_run(self):
        made = poprt.Converter(used_passes="test_add_to_sub", skip_passes="test_add_to_sub").convert(m.add_model())
        self.assertEqual(m.op_types(made), ["Add", "Add"])

    def test_unknown_names_are_refused_before_work(self):
        with self.assertRaisesRegex(LookupError, "test_add_to_su"):
            poprt.Converter(used_passes=["test_add_to_sub", "test_add_to_su"]).convert(m.add_model())

    def test_the_final_check_of_a_user_runs_last(self):
        order = []
        with mock.patch.dict(base_pass._registered):
            Pass.override_register_pass("final_check")(type("Check", (ImmutablePass,), {
                "run": lambda self, model: order.append(m.op_types(model)) or model}))
            poprt.Converter(used_passes=["test_add_to_sub"]).convert(m.add_model())
            poprt.Converter().convert(m.add_model())
            poprt.Converter(skip_passes="final_check").convert(m.add_model())
        self.assertEqual(order, [["Sub", "Sub"], ["Add", "Add"]])

    def test_a_pass_in_the_place_of_a_default_one(self):
        model = m.make([node("Identity", ["x"], ["a"]), node("Relu", ["a"], ["y"])], {"x": [2]}, {"y": [2]})
        with mock.patch.dict(base_pass._registered):
            Pass.override_register_pass("eliminate_identity")(type("Keep", (Pass,), {"run": lambda self, model: model}))
            self.assertIn("Identity", m.op_types(poprt.Converter().convert(model)))
        self.assertNotIn("Identity", m.op_types(poprt.Converter().convert(model)))

    def test_passes_in_the_place_of_those_that_options_select(self):
        options = {"float_to_half": {"precision": "fp16"}, "int64_to_int32": {}, "erf_gelu_pattern": {"enable_erf_gelu": True},
                   "auto_insert_remap": {"enable_insert_remap": True}, "serialize_matmul": {"serialize_matmul": {"product": "2"}},
                   "float_to_fp8": {"precision": "fp8"}}
        model = m.make([node("MatMul", ["x", "w"], ["h"], name="product"), node("Add", ["h", "h"], ["s"]), node("Relu", ["s"], ["y"])],
                       {"x": [2, 3]}, {"y": [2, 4], "s": [2, 4]}, {"w": np.ones((3, 4), np.float32)})
        for name, chosen in options.items():
            called = []
            with self.subTest(name), mock.patch.dict(base_pass._registered):
                Pass.override_register_pass(name)(type("Mine", (Pass,), {"run": lambda self, model: called.append(self.name) or model}))
                made = poprt.Converter(**chosen).convert(model)
                self.assertEqual(called, [name])
                self.assertEqual(made.graph.input[0].type.tensor_type.elem_type, 10 if name == "float_to_fp8" else 1)
                called.clear()
                poprt.Converter(skip_passes=name, **chosen).convert(model)
                self.assertEqual(called, [])
                if name != "int64_to_int32":
                    poprt.Converter().convert(model)
                    self.assertEqual(called, [])
        for name, chosen in {"remove_outputs": {"remove_outputs": ["s"]}, "add_checkpoints": {"checkpoints": "h"},
                             "const_input_shape": {"input_shape": {"x": [2, 3]}}, "check_with_fake_data": {"check": True}}.items():
            with self.subTest(name), mock.patch.dict(base_pass._registered):
                Pass.override_register_pass(name)(type("Mine", (Pass,), {"run": lambda self, model: called.append(self.name) or model}))
                with self.assertRaisesRegex(UnimplementedError, f"pass {name} in Python cannot replace .* leave the option out"):
                    poprt.Converter(**chosen).convert(model)
                called.clear()
                poprt.Converter(used_passes=[name]).convert(model)
                self.assertEqual(called, [name])

    def test_a_pass_that_only_inspects_replaces_one_by_its_attribute(self):
        called = []
        kind = type("Check", (ImmutablePass,), {"name": "final_check", "run": lambda self, model: called.append(1) or model})
        poprt.Converter().convert(m.add_model())
        kind.name = "test_no_longer_final_check"
        self.assertEqual(called, [1])

    def test_constraints_of_users_passes(self):
        log = []

        def make(name, *decorators):
            cls = type(name, (Pass,), {"run": lambda self, model: log.append(self.name) or model})
            for decorate in decorators:
                cls = decorate(cls)
            return register(name)(cls)

        def convert(*names, **options):
            log.clear()
            poprt.Converter(used_passes=list(names), **options).convert(m.add_model())
            return log

        with mock.patch.dict(base_pass._registered):
            make("test_base")
            make("test_late", Pass.constraint_passes("depend", ["test_base", "constant_folding"]))
            make("test_early", Pass.constraint_passes("before", ["test_base", "final_check"]))
            make("test_enemy", Pass.against_passes(["test_base"]))
            make("test_rival", Pass.against_passes(["constant_folding"]))
            make("test_first", Pass.constraint_passes("before", ["constant_folding"]))
            self.assertEqual(convert("test_late", "test_early"), ["test_early", "test_base", "test_late"])
            self.assertEqual(convert("test_early", "test_base", "test_early", skip_passes="test_early"), ["test_base"])
            with self.assertRaisesRegex(FailedPreconditionError, "test_enemy and test_base do not run together"):
                convert("test_enemy", "test_base")
            with self.assertRaisesRegex(FailedPreconditionError, "test_rival and constant_folding do not run together"):
                convert("test_rival")
            self.assertEqual(convert("test_rival", skip_passes="constant_folding"), ["test_rival"])
            with self.assertRaisesRegex(FailedPreconditionError, "test_first must run before pass constant_folding"):
                convert("test_first")

    def test_the_source_stays_as_it_is(self):
        model = m.add_model()
        before = model.SerializeToString(deterministic=True)
        poprt.Converter(used_passes=["test_add_to_sub"]).convert(model)
        self.assertEqual(model.SerializeToString(deterministic=True), before)


class Patterns(unittest.TestCase):
    MODEL = m.make([node("Reshape", ["x", "shape"], ["r"], name="reshape"), node("Cast", ["r"], ["c"], to=1),
                    node("Mul", ["c", "w"], ["m1"], name="one"), node("Mul", ["r", "m1"], ["m2"], name="two"),
                    node("Add", ["m2", "w"], ["a"]), node("Relu", ["a"], ["y"])], {"x": [2, 3]}, {"y": [3, 2]},
                   {"shape": np.array([3, 2]), "w": np.ones((3, 2), np.float32)})

    def find(self, *pattern):
        return PatternMatcher(list(pattern)).next_pattern(self.MODEL.graph)

    def test_a_chain(self):
        found = self.find("s:0->Reshape:1->Cast:2 -> Mul:3->e:5")
        self.assertEqual({k: v.index for k, v in found.items()}, {"0": -1, "1": 0, "2": 1, "3": 2, "5": 3})
        self.assertEqual(found["3"].node.name, "one")
        self.assertEqual(found["3"], (self.MODEL.graph.node[2], 2))
        self.assertIsNone(found["0"].node)

    def test_chains_branch_and_join(self):
        found = self.find("s:0->Reshape:Reshape->Cast:2->Mul:3->Mul:4->e:5", "   Reshape:Reshape   ->Mul:4")
        self.assertEqual([found[k].index for k in ("Reshape", "2", "3", "4", "5")], [0, 1, 2, 3, 4])
        self.assertIsNone(self.find("Reshape:1->Cast:2->Mul:3", "Reshape:1->Mul:3"))

    def test_the_end_may_be_an_output(self):
        self.assertEqual(self.find("Add:1->Relu:2->e:3")["3"], (None, -1))
        self.assertIsNone(self.find("Relu:1->Relu:2"))

    def test_each_place_is_found_once_and_then_again(self):
        matcher = PatternMatcher("Mul:m")
        names = [matcher.next_pattern(self.MODEL.graph)["m"].node.name for _ in range(2)]
        self.assertEqual(names, ["one", "two"])
        self.assertIsNone(matcher.next_pattern(self.MODEL.graph))
        self.assertEqual(matcher.next_pattern(self.MODEL.graph)["m"].node.name, "one")

    def test_keys_are_different_nodes(self):
        self.assertIsNone(self.find("Cast:1->Mul:2", "Cast:3->Mul:4"))

    def test_nodes_can_be_replaced_while_searching(self):
        model = onnx.ModelProto()
        model.CopyFrom(self.MODEL)
        matcher = PatternMatcher(["s:0->Cast:1->Mul:2"])
        found = matcher.next_pattern(model.graph)
        found["2"].node.input[0] = found["1"].node.input[0]
        model.graph.node.remove(found["1"].node)
        self.assertIsNone(matcher.next_pattern(model.graph))
        self.assertNotIn("Cast", m.op_types(model))

    def test_refuses_invalid_patterns(self):
        for pattern, why in (("Cast", "expected OpType:key"), ("Cast:1->s:0", "s stands at the begin"), ("e:0->Cast:1", "e at its end"),
                             ("Cast:1->Mul:1", "key '1' is Cast and Mul"), ("s:0->e:1", "names no operator")):
            with self.subTest(pattern), self.assertRaisesRegex(ValueError, why):
                PatternMatcher([pattern])


class Helpers(unittest.TestCase):
    def test_topological_sort(self):
        model = Patterns.MODEL
        shuffled = onnx.ModelProto()
        shuffled.CopyFrom(model)
        shuffled.graph.ClearField("node")
        shuffled.graph.node.extend(reversed(list(model.graph.node)))
        ordered = topological_sort(shuffled.graph)
        shuffled.graph.ClearField("node")
        for n in ordered:
            shuffled.graph.node.append(n)
        onnx.checker.check_model(shuffled)
        self.assertEqual([n.op_type for n in topological_sort(model.graph)], m.op_types(model))
        circle = m.make([node("Relu", ["b"], ["a"], name="one"), node("Relu", ["a"], ["b"], name="two")], {}, {"b": [1]})
        with self.assertRaisesRegex(ValueError, "a cycle through one, two"):
            topological_sort(circle.graph)

    def test_sorts_nodes_before_nested_graphs_that_read_them(self):
        body = onnx.helper.make_graph([node("Identity", ["late"], ["t"])], "then", [],
                                      [onnx.helper.make_tensor_value_info("t", m.FLOAT, [2])])
        other = onnx.helper.make_graph([node("Identity", ["x"], ["e"])], "else", [],
                                       [onnx.helper.make_tensor_value_info("e", m.FLOAT, [2])])
        model = m.make([node("If", ["c"], ["y"], then_branch=body, else_branch=other), node("Relu", ["x"], ["late"])],
                       {"x": [2], "c": ([], onnx.TensorProto.BOOL)}, {"y": [2]})
        self.assertEqual([n.op_type for n in topological_sort(model.graph)], ["Relu", "If"])

    def test_types_shapes_constants(self):
        model = onnx.shape_inference.infer_shapes(Patterns.MODEL)
        graph = model.graph
        self.assertEqual((get_dtype(graph, "x"), get_dtype(graph, "shape"), get_dtype(graph, "none")), (m.FLOAT, m.INT64, None))
        self.assertEqual((get_shape(graph, "x"), get_shape(graph, "r"), get_shape(graph, "w"), get_shape(graph, "none")),
                         ([2, 3], [3, 2], [3, 2], None))
        self.assertIsNone(get_constant(graph, "x"))
        get_constant(graph, "w").CopyFrom(onnx.numpy_helper.from_array(np.zeros((3, 2), np.float32), "w"))
        self.assertEqual(onnx.numpy_helper.to_array(graph.initializer[1]).sum(), 0)
        constant = m.make([node("Constant", [], ["k"], value=onnx.numpy_helper.from_array(np.ones(2, np.float32))),
                           node("Add", ["x", "k"], ["y"])], {"x": [2]}, {"y": [2]})
        self.assertEqual((get_shape(constant.graph, "k"), get_dtype(constant.graph, "k")), ([2], m.FLOAT))
        self.assertIs(get_constant(constant.graph, "k"), constant.graph.node[0].attribute[0].t)

    def test_clean_info_infers_anew(self):
        model = clean_info(Patterns.MODEL)
        self.assertEqual(get_shape(model.graph, "m2"), [3, 2])
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
        get_constant(model.graph, "shape").CopyFrom(onnx.numpy_helper.from_array(np.array([6, 2]), "shape"))
        get_constant(model.graph, "w").CopyFrom(onnx.numpy_helper.from_array(np.ones((6, 2), np.float32), "w"))
        made = clean_info(model)
        self.assertEqual((get_shape(made.graph, "m2"), get_shape(made.graph, "y")), ([6, 2], [6, 2]))


class Shapes(unittest.TestCase):
    """The documented demonstration of custom operators, in both of its forms."""

    def model(self, domain="ai.graphcore"):
        return m.make([node("TestLeakyRelu", ["X"], ["Y"], domain=domain, alpha=0.01), node("Relu", ["Y"], ["Z"])], {"X": [8, 8]},
                      {"Z": [8, 8]}, domains=[domain])

    def function(self, found=True, note=True):
        from poprt.passes import ShapeFunc

        class Infer(ShapeFunc):
            def __init__(self):
                super().__init__()

            def __call__(self, model, n):
                dtype, shape = get_dtype(model.graph, n.input[0]), get_shape(model.graph, n.input[0])
                if not (dtype and shape and 0 not in shape):
                    return model, False
                if note:
                    model = self.update_value_info(model, onnx.helper.make_tensor_value_info(n.output[0], dtype, shape))
                    model = onnx.shape_inference.infer_shapes(model)
                return model, found
        return Infer

    def setUp(self):
        patch = mock.patch.dict(poprt.passes.shape_inference._functions)
        patch.start()
        self.addCleanup(patch.stop)

    def test_infer_shapes_asks_the_function(self):
        poprt.passes.register_shape_func(["TestLeakyRelu"])(self.function())
        made = poprt.passes.shape_inference.infer_shapes(self.model())
        self.assertEqual((get_shape(made.graph, "Y"), get_dtype(made.graph, "Y")), ([8, 8], m.FLOAT))

    def test_earlier_names(self):
        from poprt.passes.shape_inference import ShapeFunc, ShapeInference, register, register_shape_func
        self.assertIs(ShapeInference, ShapeFunc)
        self.assertIs(register, register_shape_func)

    def test_functions_wait_for_each_other(self):
        poprt.passes.register_shape_func("TestLeakyRelu")(self.function())
        model = self.model()
        model.graph.node[1].op_type, model.graph.node[1].domain = "TestLeakyRelu", "ai.graphcore"
        model.graph.node.add().CopyFrom(model.graph.node[0])
        model.graph.node[2].input[0], model.graph.node[2].output[0] = "Z", "W"
        model.graph.output.add(name="W")
        del model.graph.node[0]
        model.graph.node.add().CopyFrom(node("TestLeakyRelu", ["X"], ["Y"], domain="ai.graphcore"))  # out of order
        made = poprt.passes.shape_inference.infer_shapes(model)
        self.assertEqual(get_shape(made.graph, "W"), [8, 8])

    def test_without_a_function_it_stays_unknown(self):
        self.assertIsNone(get_shape(poprt.passes.shape_inference.infer_shapes(self.model()).graph, "Y"))

    def test_refuses_invalid_shape_functions(self):
        poprt.passes.register_shape_func("TestLeakyRelu")(self.function(note=False))
        with self.assertRaisesRegex(ValueError, "Infer reports that it found .* update_value_info"):
            poprt.passes.shape_inference.infer_shapes(self.model())
        poprt.passes.register_shape_func("TestLeakyRelu")(self.function(found=None, note=False))
        self.assertIsNone(get_shape(poprt.passes.shape_inference.infer_shapes(self.model()).graph, "Y"))
        with self.assertRaisesRegex(TypeError, "a subclass of ShapeFunc"):
            poprt.passes.register_shape_func("TestLeakyRelu")(Pass)

    def test_the_library_knows_operators_of_its_own(self):
        model = m.make([node("Gelu", ["X"], ["Y"], domain="ai.graphcore"), node("Relu", ["Y"], ["Z"])], {"X": [8, 8]}, {"Z": [8, 8]},
                       domains=["ai.graphcore"])
        self.assertEqual(get_shape(poprt.passes.shape_inference.infer_shapes(model).graph, "Y"), [8, 8])

    def test_a_custom_operator_is_converted_around(self):
        poprt.passes.register_shape_func(["TestLeakyRelu"])(self.function())
        model = self.model()
        model.graph.node.insert(0, node("Identity", ["in"], ["X"]))
        model.graph.input[0].name = "in"
        made = poprt.Converter().convert(model)
        self.assertEqual(m.op_types(made), ["TestLeakyRelu", "Relu"])
        self.assertEqual(([i.name for i in made.graph.input], [o.name for o in made.graph.output]), (["in"], ["Z"]))
        self.assertEqual(get_shape(made.graph, "Y"), [8, 8])
        half = poprt.Converter(precision="fp16").convert(model)
        self.assertEqual(get_dtype(half.graph, "Y"), m.FLOAT16)

    def test_a_custom_operator_cannot_be_skipped_in_fp16(self):
        poprt.passes.register_shape_func(["TestLeakyRelu"])(self.function())
        with self.assertRaisesRegex(InvalidArgumentError, "fp16_skip_op_types: .*TestLeakyRelu.* only if a plug-in has its operator"):
            poprt.Converter(precision="fp16", fp16_skip_op_types="Relu, TestLeakyRelu").convert(self.model())
        poprt.Converter(precision="fp16", fp16_skip_op_types="Relu").convert(self.model())

    def test_a_domain_needs_no_import(self):
        poprt.passes.register_shape_func(["TestLeakyRelu"])(self.function())
        model = self.model()
        del model.opset_import[1]
        made = poprt.Converter().convert(model)
        self.assertEqual([(o.domain, o.version) for o in made.opset_import if o.domain], [("ai.graphcore", 1)])
        self.assertEqual(get_shape(made.graph, "Y"), [8, 8])

    def test_a_custom_operator_without_a_function_is_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "TestLeakyRelu"):
            poprt.Converter().convert(self.model())

    def test_shapes_that_stay_variable_are_refused(self):
        poprt.passes.register_shape_func(["TestLeakyRelu"])(self.function())
        model = self.model()
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"
        with self.assertRaisesRegex(InvalidArgumentError, "shapes of all inputs must be fixed"):
            poprt.Converter().convert(model)
        made = poprt.Converter(input_shape={"X": [4, 8]}).convert(model)
        self.assertEqual(get_shape(made.graph, "Y"), [4, 8])


class PublishedPass(unittest.TestCase):
    """Written from what a published program for DeBERTa does with the pass API: matches, indices, insertions, removals."""

    def test_a_mask_is_rewritten(self):
        model = m.make([node("Unsqueeze", ["mask"], ["u"], name="u", axes=[1]), node("Cast", ["u"], ["c"], name="c", to=1),
                        node("Mul", ["c", "x"], ["m"], name="m"), node("Relu", ["m"], ["y"])],
                       {"mask": ([2], m.INT64), "x": [2, 3]}, {"y": [2, 3]})
        matcher = PatternMatcher(["s:0->Unsqueeze:Unsqueeze->Cast:Cast->Mul:Mul->e:5"])
        ops = matcher.next_pattern(model.graph)
        made = node("Cast", [ops["Unsqueeze"].node.input[0]], ["made"], name="made", to=onnx.TensorProto.BOOL)
        ops["Unsqueeze"].node.input[0] = made.output[0]
        model.graph.node.insert(ops["Unsqueeze"].index, made)
        ordered = topological_sort(model.graph)
        model.graph.ClearField("node")
        for n in ordered:
            model.graph.node.append(n)
        model = poprt.passes.shape_inference.infer_shapes(clean_info(model))
        onnx.checker.check_model(model)
        mask = np.array([0, 5])
        np.testing.assert_array_equal(run(model, mask=mask, x=X)["y"], X * np.array([[0], [1]]))


    def test_a_final_check_of_its_own(self):
        """A published program replaces the final check by this pass, by replacing the search for passes."""
        from poprt.passes.remove_duplicated_initializer import RemoveDuplicatedInitializer

        class CustomFinalCheck(ImmutablePass):
            name = "test_custom_final_check"

            def run_transform(self, graph, is_main_graph):
                tensors = {name for n in graph.node for name in n.output}
                for t in [*graph.value_info, *graph.output]:
                    if t.type.tensor_type.HasField("elem_type") and t.type.tensor_type.HasField("shape"):
                        tensors.discard(t.name)
                for name in tensors:
                    self.logger.warning(f"Graph {graph.name} tensor {name} has no elem_type or shape.")
                return graph

            def run(self, model):
                model = RemoveDuplicatedInitializer().run(clean_info(model))
                model.graph.CopyFrom(self.traverse_graph(model.graph, self.run_transform))
                return ApplyIrPass(["unique_name_for_nodes"])(model)

        before = base_pass.get_all_named_subclasses
        model = m.make([node("Add", ["x", "a"], ["s"], name="same"), node("Add", ["s", "b"], ["t"], name="same"),
                        node("Relu", ["t"], ["y"])], {"x": [3]}, {"y": [3]},
                       {"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)})
        with mock.patch.object(poprt.passes.base_pass, "get_all_named_subclasses",
                               lambda cls: {**before(cls), "final_check": CustomFinalCheck}):
            made = poprt.Converter(skip_passes="constant_folding,fuse_consecutive_arithmetic").convert(model)
        names = [n.name for n in made.graph.node]
        self.assertEqual(len(set(names)), len(names))
        self.assertNotIn("", names)
        self.assertEqual(len(made.graph.initializer), 1)
        np.testing.assert_array_equal(run(made, x=X[0])["y"], X[0] + 2)

    def test_a_batch_is_changed_by_hand(self):
        """A published program gives Swin another batch in this way: constants become initializers, which it edits."""
        shape = onnx.numpy_helper.from_array(np.array([4, 6]))
        model = m.make([node("Constant", [], ["k"], value=shape), node("Reshape", ["x", "k"], ["y"])], {"x": [4, 2, 3]}, {"y": [4, 6]})
        model = poprt.optimizer.Optimizer(["extract_constant_to_initializer"]).run(model)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 24
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 24
        for n in model.graph.node:
            if n.op_type == "Reshape":
                tensor = get_constant(model.graph, n.input[1])
                array = onnx.numpy_helper.to_array(tensor).copy()
                array[0] = 24
                tensor.CopyFrom(onnx.numpy_helper.from_array(array, name=tensor.name))
        x = np.arange(144, dtype=np.float32).reshape(24, 2, 3)
        np.testing.assert_array_equal(run(model, x=x)["y"], x.reshape(24, 6))

    def test_two_models_are_compared_layer_by_layer(self):
        """As in a published tool, initializers are removed from the inputs, parts are extracted, and sessions list their inputs."""
        from onnx.utils import Extractor
        source = m.add_model()
        source.graph.input.append(onnx.helper.make_tensor_value_info("b", m.FLOAT, [3]))
        source = Pass.get_pass("remove_initializer_from_input")(source)
        self.assertEqual([i.name for i in source.graph.input], ["x"])
        converted = onnx.shape_inference.infer_shapes(poprt.Converter().convert(source))
        part = Extractor(converted).extract_model(["x"], ["s"])
        session = poprt.backend.get_session(part.SerializeToString(), 1, "poprt").load()
        inputs, outputs = session.get_io_info()
        feeds = {name: np.ones(shape).astype(dtype) for name, (shape, dtype) in inputs.items()}
        np.testing.assert_array_equal(session.run([o for o in outputs], feeds)[0], np.full((2, 3), 2, np.float32))


class Packages(unittest.TestCase):
    def test_a_missing_package_error_contains_the_install_command(self):
        from poprt._onnx import onnx as wanted
        with mock.patch.dict(sys.modules, {"onnx": None}):
            with self.assertRaisesRegex(ImportError, "PassManager needs .*package onnx.*pip install onnx.*python3-onnx"):
                wanted("PassManager")

    def test_passes_log_by_the_logger_of_poprt(self):
        self.assertIs(Pass().logger, logging.getLogger("poprt"))


if __name__ == "__main__":
    unittest.main()
