function [alpha, history] = sstep_bdcd_krr(A, y, alpha, blocks, s, lambda, kernel)
% SSTEP_BDCD_KRR  s-step block dual coordinate descent for kernel ridge regression.
%
%   [alpha, history] = SSTEP_BDCD_KRR(A, y, alpha, blocks, s, lambda, kernel)
%   makes the iterations of BDCD_KRR in windows of s (the last may be
%   shorter). history(:, k) is alpha after window k.
%
%   Source: Algorithm 4. W = V' M V is the matrix M = K / lambda + m I of all
%   the coordinates of a window, repeated ones included; the blocks next to its
%   diagonal are the corrections of line 14 (delta is still zero from
%   iteration j on). G has m once for each draw, also of a repeated coordinate.

  m = numel(y);
  [H, b] = size(blocks);
  history = zeros(m, ceil(H / s));
  for first = 1:s:H
    window = blocks(first:min(first + s - 1, H), :)';     % b x (iterations)
    drawn = window(:);
    Q = kernel_panel(A, drawn, kernel);                   % line 10
    W = Q(drawn, :) / lambda + m * (drawn == drawn');
    stale = y(drawn) - m * alpha(drawn) - Q' * alpha / lambda;
    delta = zeros(numel(drawn), 1);
    for j = 1:size(window, 2)
      own = (j - 1) * b + (1:b);
      G = Q(drawn(own), own) / lambda + m * eye(b);
      delta(own) = G \ (stale(own) - W(own, :) * delta);  % line 14
    end
    alpha = alpha + accumarray(drawn, delta, [m, 1]);     % line 16
    history(:, ceil(first / s)) = alpha;
  end
end
