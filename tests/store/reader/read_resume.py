"""What a resume forgets, as docs/internals/format.md says in the section of that name."""
import math

BOUNDARY, LOOP_END, STEP, SAVED = range(4)


def forget_after(facts, point):
    here = point.main_loop, point.iteration
    complete = {fact.name for key, fact in facts.items() if key[0] == "main_loop" and fact.ordinal < point.main_loop}
    unsure = {key[1] for key in facts if key[0] == "part" and key[2] < -1 - point.main_loop}

    def first_step(path):
        """In the iteration of the point: the first step of the path's nested loop that is executed again."""
        loop = path.split("/")[1] if "/" in path else None
        return -1 if not point.loop else point.step if loop == point.loop else math.inf if loop in point.kept else -1

    def is_before(kind, loop):
        """Whether a checkpoint of a nested loop in the iteration of the point was taken before the point."""
        name, _, step = loop.partition("@")
        if not point.loop or name in point.kept:
            return point.loop and kind == LOOP_END
        return name == point.loop and (int(step) <= point.step if kind == STEP else step == "begin")

    def is_gone(what, key, fact):
        match what:
            case "main_loop":
                return fact.ordinal >= point.main_loop + point.boundary
            case "iteration" | "decision":
                return key >= here
            case "execution":
                return key[:2] > here or key[:2] == here and fact.loop not in point.kept
            case "gap":
                return fact.first >= point.epoch
            case "used_file":
                return fact.epoch >= point.epoch + bool(point.loop)
            case "part":
                return fact.part >= point.epoch or fact.part < 0 and key[0] in unsure
            case "saved":
                place = fact.key.main_loop, fact.key.iteration
                return place > here or place == here and fact.place.step >= first_step(fact.place.path)
            case "value":
                first = math.inf if point.loop and "/" not in fact.path else first_step(fact.path)
                return fact.path.split("/")[0] not in complete and (
                    fact.epoch > point.epoch or fact.epoch < 0 and fact.replay in unsure or
                    fact.epoch == point.epoch and (fact.step >= first or fact.replay != ""))
            case "checkpoint" | "discarded":
                kind, *place, loop = key[:4]
                if kind == SAVED:
                    return not any(each[0] == "saved" and other.name == loop for each, other in facts.items())
                if tuple(place) != here or kind == BOUNDARY:
                    again = kind == BOUNDARY and not point.boundary and place[0] == point.main_loop
                    return tuple(place) > here or what == "checkpoint" and again
                return what == "discarded" or not is_before(kind, loop)

    for saved in (True, False):  # whether a saved checkpoint stays is known when its name is gone
        for key in [key for key, fact in facts.items() if (key[0] == "saved") == saved and is_gone(key[0], key[1:], fact)]:
            del facts[key]
    for key, fact in facts.items():
        if key[:2] == ("main_loop", point.main_loop):
            fact.iterations, fact.ended, fact.broke = point.iteration, False, False
        elif key[:2] == ("decision", point.main_loop):
            fact.last = min(fact.last, point.iteration - 1)
        elif key[0] == "gap":
            fact.last = min(fact.last, point.epoch - 1)
