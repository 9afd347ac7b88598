class LowRank:
    @staticmethod
    def of(problem, ar):
        return None


def extended_interior_point(problem, low_rank): ...
